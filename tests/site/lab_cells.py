# %%
import altair as alt
import pandas as pd

from helpers.display import chart as charts
from helpers.display import tables as display_tables

df = pd.DataFrame({"model": ["a", "b", "$\\frac{1}{2}$"], "score": [0.1, 0.2, 0.3]})
# %%
display_tables.table(df, name="tbl", caption="Scores")
# %%
bars = alt.Chart(df).mark_bar().encode(x="score", y="model")
charts.drawing(bars, name="fig-bars", alt="three bars", title="Finding one")
# %%
charts.drawing(bars.mark_point(), name="fig-points", alt="three points", title="Finding two")
