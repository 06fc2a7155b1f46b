"""What a mutation did, with facts, and the panel and the page that show it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from engine.finding import Step
from engine.ir.text import print_graph
from engine.seeds import load_seed
from tests import factories
from tests.factories import MUTANT, PARENT
from tests.triage.graphs import chain
from triage.diff import Difference, FactRow, one_graph
from triage.graph_panel import Panel, diff_panel, program_panel, program_picture
from triage.lineage import Comparison
from triage.models import FindingRecord

FACTS_BEFORE = {
    "v0": {"dtype": "float32", "layout": "contiguous", "values": "mean 0.1"},
    "x": {"dtype": "float32", "layout": "contiguous", "values": "mean 0"},
}
FACTS_AFTER = {
    "v0": {"dtype": "float32", "layout": "channels_last", "values": "mean 0.2"},
    "x": {"dtype": "float32", "layout": "contiguous", "values": "mean 9"},
    "m0": {"dtype": "float32", "alias": "none"},
}


def compared(**fields: Any) -> Difference:
    plain = Comparison("1", "insert", PARENT, MUTANT, ("m0",))
    return Difference(replace(plain, **fields))


def panel(query: str = "", **fields: Any) -> Panel:
    made = diff_panel(factories.engine_finding(**{"steps": (), **fields}), QueryDict(query))
    assert isinstance(made, Panel), made
    return made


def long_panel(query: str = "") -> Panel:
    return panel(query, parent_text=chain(40), mutant_text=chain(40, changed_at=20), changed=())


# -------------------------------------------------------------------------------------- facts
def test_summary_counts_nodes_and_edges() -> None:
    assert compared().summary == "1 added, 2 changed nodes; 2 added, 1 removed edge"
    assert compared(after=PARENT).summary == "3 operators, 2 inputs and weights"


def test_facts_of_an_old_finding_are_what_the_graphs_declare() -> None:
    found = compared()
    assert not found.has_facts
    assert found.facts("v0") == (
        FactRow("dtype", "float32", "float32"),
        FactRow("shape", "[1,8,16,16]", "[1,8,16,16]"),
    )
    assert found.facts("m0")[0] == FactRow("dtype", "", "float32")


def test_recorded_facts_are_shown_before_and_after() -> None:
    found = compared(facts_before=FACTS_BEFORE, facts_after=FACTS_AFTER)
    rows = {row.name: row for row in found.facts("v0")}
    assert (rows["layout"].text, rows["layout"].differs) == ("contiguous → channels_last", True)
    assert not rows["dtype"].differs
    assert found.facts("m0") == (FactRow("dtype", "", "float32"), FactRow("alias", "", "none"))
    # Recorded on one side only: words of two sources would differ, so the graphs speak.
    assert [row.name for row in found.facts("w0")] == ["dtype", "shape", "layout"]


def test_edge_whose_layout_changed_is_changed_and_figures_alone_change_none() -> None:
    wide = PARENT.replace(
        "v2: float32[1,8,16,16] = add(v1, x)", "v2: float32[1,8,16,16] = add(v0, x)"
    )
    found = compared(
        before=wide,
        after=wide.replace("relu", "tanh"),
        facts_before=FACTS_BEFORE,
        facts_after=FACTS_AFTER,
    )
    statuses = {name: edge.status for name, edge in found.edges.items()}
    assert statuses["v0-v1-0"] == statuses["v0-v2-0"] == "changed"
    assert statuses["x-v0-0"] == "same"
    notes = found.notes()
    assert notes.labels["v0-v1-0"] == "layout contiguous → channels_last"
    assert notes.tips["x-v0-0"].endswith("layout contiguous; values mean 0 → mean 9")


def test_what_only_the_cut_of_a_window_tells_apart_is_no_change() -> None:
    before = {
        "v0": {"gradient": "required", "alias": "storage of far_above, offset 0, view"},
        "v1": {"gradient": "required", "alias": "own storage, offset 0"},
        "x": {"strides": "unknown", "layout": "contiguous"},
    }
    after = {
        "v0": {"gradient": "unknown", "alias": "storage of x, offset 0, view"},
        "v1": {"gradient": "not required", "alias": "storage of v0, offset 0, view"},
        "x": {"strides": "[1]", "layout": "contiguous"},
    }
    found = compared(facts_before=before, facts_after=after)
    differing = {name: [row.name for row in found.facts(name) if row.differs] for name in before}
    assert differing == {"v0": [], "v1": ["alias", "gradient"], "x": []}
    # Given in one window and made in the other: it owns its storage there, and is a leaf.
    window = PARENT.replace(
        "  v0: float32[1,8,16,16] = conv2d(x, w0, none; padding=(1, 1), stride=(1, 1))\n", ""
    ).replace("  weight w0: float32[8,8,3,3]", "  input v0: float32[1,8,16,16]")
    cut = compared(
        before=window,
        facts_before={"v0": {"gradient": "required, leaf", "alias": "own storage, offset 0"}},
        facts_after={"v0": {"gradient": "required", "alias": "storage of x, offset 0, view"}},
    )
    assert not any(row.differs for row in cut.facts("v0"))


def test_details_of_a_node_tell_its_statement_and_its_edges() -> None:
    details = compared().node_details("v2")
    assert details is not None
    assert details.before.endswith("add(v1, x)")
    assert details.after.endswith("sub(v1, x)")
    assert [edge.source for edge in details.uses] == ["v1", "x"]
    assert compared().node_details("nothing") is None


def test_details_of_an_edge_tell_what_flows() -> None:
    details = compared().edge_details("v0-m0-0")
    assert details is not None
    assert (details.status, details.title) == ("added", "v0 into m0, operand 0")
    assert compared().edge_details("v0-v9-0") is None


def test_search_puts_whole_matches_first() -> None:
    found = Difference(one_graph(chain(12, changed_at=3)))
    assert found.found("v1") == ("v1", "v10", "v11")
    assert found.found("TANH") == ("v3",)
    assert found.found("anh") == ("v3",)
    assert found.found(" ") == ()


# -------------------------------------------------------------------------------------- panel
def test_panel_without_a_query_shows_the_last_mutation() -> None:
    shown = panel()
    assert [(one.name, bool(one.query), one.is_shown) for one in shown.stages] == [
        ("1", False, False),
        ("2", True, True),
    ]
    assert shown.lacks_steps
    assert shown.previous is shown.next is None


def test_stepper_goes_along_the_mutations() -> None:
    first = Step("swap_binary.sub", MUTANT, PARENT, ("v2",))
    shown = panel("step=1&open=x&node=v0&other=1", steps=(first,))
    assert [one.is_shown for one in shown.stages] == [True, False, False]
    assert shown.previous is None
    assert shown.next is not None
    # Folds and nodes of one mutation are not those of the next; what is not ours is kept.
    assert QueryDict(shown.next.query[1:]).dict() == {"step": "2", "other": "1"}
    whole = panel("step=all", steps=(first,))
    assert [one.is_shown for one in whole.stages] == [False, False, True]
    assert panel("step=9", steps=(first,)).stages[1].is_shown


def test_long_way_shows_where_one_is_and_its_ends() -> None:
    steps = tuple(Step(f"m{index}", PARENT, MUTANT, ()) for index in range(4, 10))
    lineage = tuple(f"m{index}" for index in range(10))
    fields = {"steps": steps, "lineage": lineage, "mutator": "m8 + m9"}
    assert [one.text for one in panel(**fields).stages_at_once] == [
        "this round, 2 mutations",
        "all 6 recorded",
    ]
    shown = panel("step=5", **fields)
    assert [one.name for one in shown.stages_at_once] == ["5", "round", "all"]
    assert shown.mutations == 10
    # Steps of the last round alone say no more than the round does.
    alone = panel(**{**fields, "steps": steps[-2:]})
    assert [one.name for one in alone.stages if one.query] == ["9", "10", "round"]


def test_folds_open_and_close_by_their_links() -> None:
    shown = long_panel()
    (_, first), (_, second) = shown.closed
    assert "open=x" in first
    both = long_panel(f"{first[1:]}&open=v23")
    assert both.folding.folded == 0
    closing = next(query for one, query in both.opened if one.id == "x")
    assert [one.id for one in long_panel(closing[1:]).folding.opened] == ["v23"]
    assert second == "?open=v23"


def test_picture_carries_the_state_into_its_links() -> None:
    shown = long_panel("hops=1&open=x&find=v30")
    assert 'href="?hops=1&amp;find=v30&amp;open=x&amp;open=v22&amp;node=v20#graph"' in shown.svg


def test_found_node_is_chosen_marked_and_its_fold_is_open() -> None:
    shown = long_panel("find=v30")
    assert shown.chosen is not None
    assert shown.chosen.id == "v30"
    assert 'class="g-node same chosen hit-by-search" id="graph-n-v30" aria-current' in shown.svg
    # Others are found too: their fold is marked.
    many = long_panel("find=relu&node=v19")
    assert 'class="g-node folded hit-by-search" id="graph-f-x"' in many.svg
    assert len(many.hit_links) == 39
    assert many.more_hits == 0


def test_chosen_edge_is_marked() -> None:
    svg = panel("edge=v0-m0-0").svg
    assert 'class="g-edge added chosen" id="graph-e-v0-m0-0" aria-current="true"' in svg


def test_tables_show_what_differs_or_what_is_drawn_or_all() -> None:
    assert [node.id for node in long_panel().node_rows] == ["v20"]
    assert len(long_panel("rows=shown").node_rows) == 5
    assert len(long_panel("rows=all").node_rows) == 41
    assert len(long_panel("rows=all").edge_rows) == 40


def test_words_that_mean_nothing_are_passed_over() -> None:
    assert long_panel("hops=many&rows=some&open=q&node=q&step=q").folding == long_panel().folding


def test_whole_seed_is_shown_by_its_layers_and_opens() -> None:
    text = print_graph(load_seed("convnextv2_tiny").graph)
    seed = program_panel(text, QueryDict(), title="The seed")
    assert isinstance(seed, Panel)
    assert seed.difference.summary == "307 operators, 201 inputs and weights"
    assert [one.text for one in seed.scope_choices if one.is_chosen] == ["folded"]
    assert "stages_2_layers_8" in [one.scope for one, _ in seed.closed]
    assert seed.stages == ()
    found = program_panel(text, QueryDict("find=gelu"), title="The seed")
    assert isinstance(found, Panel)
    assert len(found.hits) == 18


def test_text_that_is_no_graph_is_named() -> None:
    assert "cannot be read" in str(program_panel("nonsense", QueryDict(), title="Seed"))
    assert program_picture("nonsense") is None
    drawn = program_picture(factories.MINIMISED, diverges="v0")
    assert drawn is not None
    assert "≠ differs" in drawn


# --------------------------------------------------------------------------------------- page
@pytest.fixture
def record(db: None) -> FindingRecord:
    return factories.finding(steps=(), parent_facts=FACTS_BEFORE, mutant_facts=FACTS_AFTER)


def url(record: FindingRecord, query: str = "", *, route: str = "show-diff") -> str:
    return f"{reverse(f'triage:{route}', args=[record.uuid])}?{query}"


@pytest.mark.usefixtures("person")
def test_page_shows_picture_tables_facts_and_text(client: Client, record: FindingRecord) -> None:
    page = client.get(url(record, "node=v0")).content.decode()
    for text in (
        "1 added, 2 changed nodes",
        "+ added",
        "channels_last",
        "operand 0: <a",
        "Mutations in dashed frames were not recorded one by one",
        "The same as tables",
        "The same as text",
        'role="search"',
    ):
        assert text in page


@pytest.mark.usefixtures("person")
def test_script_gets_the_panel_alone(client: Client, record: FindingRecord) -> None:
    response = client.get(url(record), headers={"HX-Request": "true"})
    assert response.content.decode().lstrip().startswith('<div id="graph"')
    assert "HX-Request" in response["Vary"]


@pytest.mark.usefixtures("person")
def test_same_query_on_the_page_of_the_bucket_shows_the_same(
    client: Client, record: FindingRecord
) -> None:
    page = client.get(f"{record.get_absolute_url()}?edge=v0-m0-0").content.decode()
    assert "v0 into m0, operand 0" in page
    assert f'data-diff="{url(record)[:-1]}"' in page


@pytest.mark.usefixtures("person")
def test_file_is_what_the_page_shows(client: Client) -> None:
    record = factories.finding(parent_text=chain(40), mutant_text=chain(40, changed_at=20))
    near = client.get(url(record, route="download-picture"))
    whole = client.get(url(record, "hops=all&node=v3", route="download-picture"))
    assert near["Content-Type"] == "image/svg+xml"
    assert b'data-node="v3"' not in near.content
    assert b'class="g-node same chosen" id="graph-n-v3"' in whole.content
    assert b"<a " not in whole.content


def test_page_is_for_those_who_are_logged_in(client: Client, record: FindingRecord) -> None:
    for route in ("show-diff", "download-picture"):
        assert client.get(url(record, route=route)).status_code == 302


@pytest.mark.usefixtures("person")
def test_finding_without_graphs_says_so(client: Client) -> None:
    record = factories.finding(steps=(), parent_text="", mutant_text="")
    assert "carries no graphs" in client.get(url(record)).content.decode()
    assert client.get(url(record, route="download-picture")).status_code == 404


@pytest.mark.usefixtures("person")
def test_seed_has_a_page_that_findings_lead_to(client: Client, record: FindingRecord) -> None:
    path = reverse("triage:show-seed", args=[record.seed])
    assert f'href="{path}"' in client.get(url(record)).content.decode()
    page = client.get(path).content.decode()
    for text in (
        "ConvNeXt V2-Tiny, compact",
        "63,754 parameters",
        "convnextv2_tiny",
        "nodes folded",
    ):
        assert text in page
    picture = client.get(reverse("triage:download-seed-picture", args=[record.seed]))
    assert picture["Content-Type"] == "image/svg+xml"
    assert client.get(reverse("triage:show-seed", args=["nothing"])).status_code == 404


@pytest.mark.usefixtures("person")
def test_hostile_words_of_a_query_cannot_become_markup(
    client: Client, record: FindingRecord
) -> None:
    evil = '"><script>alert(1)</script>'
    for name in ("step", "hops", "open", "node", "edge", "find", "rows", "other"):
        page = client.get(url(record), {name: evil}).content.decode()
        assert "<script>alert" not in page


@pytest.mark.usefixtures("person")
def test_page_makes_the_same_number_of_queries_at_any_size(
    client: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    for length in (3, 2000):
        record = factories.finding(
            parent_text=chain(length, skips=True),
            mutant_text=chain(length, changed_at=1, skips=True),
        )
        with django_assert_num_queries(6):
            page = client.get(url(record, "find=tanh&rows=all"))
        assert page.status_code == 200
