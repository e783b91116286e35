"""Your model: what does its file say, and what does that cost?"""

from pages.ui import mend, model_file, parts, state
from pages.ui.chart import chart
from pages.ui.layout import side_by_side
from pages.ui.preset_browser import browser
from slmopt.figures import model as figures
from slmopt.figures import model_parts
from slmopt.reports import model_tables as tables
from slmopt.specs.setup import resolve
from slmopt.specs.weights import stored_bytes
from slmopt.theory.cache_growth import cache_growth
from slmopt.theory.model_shape import layer_weights, params_by_role
from slmopt.words import model as words
from slmopt.words import model_arithmetic as explained
from slmopt.words import model_figures as titles

setup = resolve(state.current())
found = model_file.read()
as_read = setup.model if found is None else found.model
model, problem = mend.mended_model(as_read)
own_format = found is not None and found.weights is not None
told = None if found is None else found.weights or found.named_weights
weights = told or setup.weights
growth = cache_growth(model, *setup.cache, float(setup.scenario.depth))
strip, roles = layer_weights(model, weights), params_by_role(model)

parts.scenario_line(words.scenario_line(model, found, weights, setup.cache_k))
parts.answer(words.answer(model, growth))
parts.tiles([parts.Tile(*tile) for tile in words.tiles(model, weights, growth, own_format)])
model_file.doorway()

title = titles.layers_title(model, strip)
chart(
    figures.layers(strip, stored_bytes(weights, model)),
    title=title,
    key="model_layers",
    alt=titles.layers_alt(title, strip, model),
    data=tables.layers(strip),
)
left, right = side_by_side()
with left:
    chart(
        figures.growth(growth, model.context_limit),
        title=titles.growth_title(growth),
        key="model_growth",
        alt=titles.growth_alt(growth),
        data=tables.growth(growth),
    )
with right:
    chart(
        model_parts.roles(roles),
        title=titles.roles_title(roles),
        key="model_roles",
        alt=titles.roles_alt(roles),
        data=tables.roles(roles),
    )

parts.listed(words.assumed_head(model, found), words.assumed(model))
parts.listed(words.format_words(found), ())
mend.fields(as_read, problem)
mend.use_buttons(model, found, setup.model)
browser()

parts.arithmetic(explained.arithmetic(model, weights, growth, roles, found))
parts.data_section()
parts.sources(explained.sources(model, weights, setup.cache_k))
parts.next_link("How many sequences fit beside these weights?", "memory")
