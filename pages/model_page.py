"""Your model: what does its file say, and what does that cost?"""

from pages.ui import drawn, mend, model_file, parts, state
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from pages.ui.preset_browser import browser
from slmopt.reports.pictures import model as pictures
from slmopt.specs.setup import resolve
from slmopt.theory.cache_growth import cache_growth
from slmopt.theory.model_shape import params_by_role
from slmopt.words import model as words
from slmopt.words import model_arithmetic as explained

setup = resolve(state.current())
found = model_file.read()
as_read = setup.model if found is None else found.model
model, problem = mend.mended_model(as_read)
own_format = found is not None and found.weights is not None
told = None if found is None else found.weights or found.named_weights
weights = told or setup.weights
own = model is not setup.model or weights is not setup.weights
if own:
    state.not_of_the_scenario_alone()
growth = cache_growth(model, *setup.cache, float(setup.scenario.depth))

parts.scenario_line(words.scenario_line(model, found, weights, setup.cache_k))
parts.answer(words.answer(model, growth))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(model, weights, growth, own_format)])
model_file.doorway()

layers, grown, roles = (
    pictures.pictures(model, weights, growth) if own else drawn.figures("model", state.current())
)
chart(layers)
left, right = side_by_side()
with left:
    chart(grown)
with right:
    chart(roles)

parts.listed(words.assumed_head(model, found), words.assumed(model))
parts.listed(words.format_words(found), ())
mend.fields(as_read, problem)
mend.use_buttons(model, found, setup.model)
browser()

parts.arithmetic(lambda: explained.arithmetic(model, weights, growth, params_by_role(model), found))
parts.data_section()
parts.sources(lambda: explained.sources(model, weights, setup.cache_k))
parts.next_link("How many sequences fit beside these weights?", "memory")
