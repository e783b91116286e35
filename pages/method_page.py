"""Method: how are these numbers found, and where do they fail?"""

import pandas as pd
import streamlit as st

from pages.ui import parts, state
from slmopt.words import differences
from slmopt.words import method as words
from slmopt.words.glossary import TERMS

# No figure of this page follows a thumb.
state.not_of_the_scenario_alone()

parts.scenario_line("Method, limits, accuracy, terms")
parts.answer(words.ANSWER)

st.markdown("#### Every number in its formula")
with st.container(gap="small"):
    for one in words.FORMULAS:
        with st.expander(f"**{one.name}** `{one.equation}`"):
            st.markdown(
                f"{one.meaning}\n\n- **Where it fails**: {one.fails}\n- **Source**: {one.source}\n"
                f"- **Computed in** `{one.module}`"
            )

left, right = st.columns(2, gap="medium")
with left:
    st.markdown("#### Limits")
    st.markdown("\n".join(f"- {line}" for line in words.LIMITS))
with right:
    st.markdown("#### Accuracy")
    st.markdown("\n".join(f"- {line}" for line in words.accuracy()))

columns = ["Devices", "Bandwidth reached", "Matrix rate reached", "Reference rows"]
with st.expander("What devices of each class reach"):
    st.dataframe(pd.DataFrame(words.classes(), columns=columns), hide_index=True, key="method_classes")

st.markdown("#### Why another tool says something else")
with st.container(gap="small"):
    for told, numbers in differences.lines():
        with st.expander(f"{told.title}: **{numbers}**"):
            st.markdown(f"{told.why}\n\n{told.case}: {numbers}.")

st.markdown("#### Terms")
st.markdown("\n".join(f"- **{term.name}**: {term.meaning}" for term in TERMS))

parts.sources(lambda: words.REFERENCES)
parts.next_link("What limits this model here?", "overview")
