"""The catalogue: mutations, operators and seeds, with what campaigns made of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from campaigns.models import Refusal
from engine.mutators import MUTATORS
from engine.ops import OPS
from engine.proving import proofs
from engine.seeds import SEEDS
from tests import factories

pytestmark = pytest.mark.django_db
Queries = Callable[[int], AbstractContextManager[Any]]
MUTATIONS, OPERATORS, SEED_LIST = (
    f"/catalogue/{one}/" for one in ("mutations", "operators", "seeds")
)
SEED = "convnextv2_tiny_compact"
CLONE = "tensor.insertion.copy"
VALUES = "interface.insertion.probe.values"


def shown(client: Client, path: str, **query: Any) -> list[str]:
    """Names of the rows on all pages."""
    first = client.get(path, {"size": "500", **query}).context["page"]
    rows = list(first.object_list)
    for number in range(2, first.paginator.num_pages + 1):
        asked = {"size": "500", **query, "page": str(number)}
        rows += client.get(path, asked).context["page"].object_list
    return [(row.mutator if path == MUTATIONS else row.spec).name for row in rows]


def test_stranger_is_sent_to_the_log_in_page(client: Client) -> None:
    paths = [
        "/catalogue/",
        MUTATIONS,
        f"{MUTATIONS}{CLONE}/",
        OPERATORS,
        f"{OPERATORS}relu/",
        SEED_LIST,
        f"{SEED_LIST}{SEED}/",
        f"{SEED_LIST}{SEED}/graph/",
        f"{SEED_LIST}{SEED}/graph.svg",
        f"{SEED_LIST}{SEED}/graph.flow",
    ]
    for path in paths:
        assert client.get(path)["Location"].startswith("/account/login/"), path


@pytest.mark.usefixtures("person")
def test_unknown_names_are_not_found(client: Client) -> None:
    for path in (f"{MUTATIONS}no.such.row/", f"{OPERATORS}zebra/", f"{SEED_LIST}zebra/"):
        assert client.get(path).status_code == 404, path


# --------------------------------------------------------------------------------- mutations
@pytest.mark.usefixtures("person")
def test_every_row_is_listed_once(client: Client) -> None:
    assert shown(client, MUTATIONS) == sorted(MUTATORS)
    page = client.get(MUTATIONS)
    assert len(page.context["page"].object_list) == 50
    assert page.context["variants"] == sum(len(row.variants) for row in MUTATORS.values())


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ({"object": "tensor"}, lambda row: row.object == "tensor"),
        ({"primitive": "deletion"}, lambda row: row.primitive == "deletion"),
        ({"effect": "preserving"}, lambda row: row.effect == "preserving"),
        ({"pool": "CG"}, lambda row: "CG" in row.provenance.pools),
        ({"source": "LEMON"}, lambda row: row.provenance.source == "LEMON"),
        ({"q": "COPY tensor"}, lambda row: row.name == CLONE),
        (
            {"object": "operator", "pool": "TFG"},
            lambda row: row.object == "operator" and "TFG" in row.provenance.pools,
        ),
    ],
)
def test_mutations_are_narrowed(
    client: Client, query: dict[str, str], fits: Callable[[Any], bool]
) -> None:
    found = shown(client, MUTATIONS, **query)
    wanted = sorted(name for name, row in MUTATORS.items() if fits(row))
    assert wanted
    assert set(wanted) <= set(found) if "q" in query else wanted == found


@pytest.mark.usefixtures("person")
def test_filter_that_matches_nothing_says_so_and_its_chip_takes_it_away(client: Client) -> None:
    text = client.get(MUTATIONS, {"q": "zebra", "object": "tensor"}).content.decode()
    assert "Nothing matches" in text
    assert "Remove filter Text: zebra" in text
    assert 'href="?object=tensor"' in text
    assert shown(client, MUTATIONS, object="zebra") == []


@pytest.mark.usefixtures("person")
def test_statistics_are_those_of_the_recorded_rounds(client: Client) -> None:
    shard = factories.shard()
    made = {"mutator": CLONE, "variant": "clone", "parent": "a", "digest": "b"}
    factories.mutant(shard=shard, round=0, accepted=True, **made)
    factories.mutant(shard=shard, round=1, accepted=False, verdict="fail", reason="wrong", **made)
    Refusal.objects.create(shard=shard, mutation=f"{CLONE}.clone", reason="no user", count=3)
    factories.finding(shard=shard, mutator=f"other + {CLONE}.clone", symptom="crash")
    row = client.get(MUTATIONS, {"sort": "-rounds"}).context["page"].object_list[0]
    assert (row.mutator.name, row.usage.rounds, row.usage.refused, row.found) == (CLONE, 2, 3, 1)
    assert row.accepted_share == 50
    assert row.proven == 1
    text = client.get(f"{MUTATIONS}{CLONE}/").content.decode()
    for said in ("round 0", "wrong", "no user", f"mutator={CLONE}.clone", "crash"):
        assert said in text
    assert shown(client, MUTATIONS, state="failing") == [CLONE]
    assert CLONE not in shown(client, MUTATIONS, state="unused")


@pytest.mark.usefixtures("person")
def test_before_the_first_round_a_variant_shows_the_run_that_comes_with_the_engine(
    client: Client,
) -> None:
    text = client.get(f"{MUTATIONS}{CLONE}/").content.decode()
    run = proofs()[f"{CLONE}.clone"]
    assert run.digest[:12] in text
    assert run.seed in text
    assert "no round here yet" in text


@pytest.mark.usefixtures("person")
def test_values_that_are_nasty_on_purpose_are_proven_by_a_round_that_passed(client: Client) -> None:
    shard = factories.shard()
    for number, (name, variant) in enumerate([(VALUES, "nan"), (CLONE, "clone")]):
        factories.mutant(
            shard=shard,
            round=number,
            mutator=name,
            variant=variant,
            accepted=False,
            parent="a",
            digest="b",
        )
    proven = {
        row.mutator.name: row.proven
        for row in client.get(MUTATIONS, {"size": "500"}).context["page"].object_list
    }
    assert (proven[VALUES], proven[CLONE]) == (1, 0)


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("name", list(MUTATORS)[::12])
def test_page_of_a_row_shows_its_variants_and_example(client: Client, name: str) -> None:
    response = client.get(f"{MUTATIONS}{name}/")
    assert response.status_code == 200
    assert len(response.context["variants"]) == len(MUTATORS[name].variants)
    assert response.context["before"] != response.context["after"]


# --------------------------------------------------------------------------------- operators
@pytest.mark.usefixtures("person")
def test_every_operator_is_listed_once(client: Client) -> None:
    assert shown(client, OPERATORS) == sorted(OPS)


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ({"tag": "convolution"}, lambda spec: "convolution" in spec.tags),
        ({"dtype": "complex64"}, lambda spec: "complex64" in spec.dtypes),
        ({"tolerance": "exact"}, lambda spec: spec.tolerance.value == "exact"),
        ({"form": "mint"}, lambda spec: any("mint" in one for one in spec.forms.values())),
        ({"framework": "both"}, lambda spec: all(spec.forms.values())),
        ({"state": "limits"}, lambda spec: bool(spec.limits)),
        ({"state": "writes"}, lambda spec: bool(spec.writes or spec.views)),
    ],
)
def test_operators_are_narrowed(
    client: Client, query: dict[str, str], fits: Callable[[Any], bool]
) -> None:
    wanted = sorted(name for name, spec in OPS.items() if fits(spec))
    assert wanted
    assert shown(client, OPERATORS, **query) == wanted


@pytest.mark.usefixtures("person")
def test_operator_leads_to_the_buckets_that_the_inbox_shows(client: Client) -> None:
    accused = factories.finding(
        accused_op="conv2d", parts={"calls": "conv2d.function > relu.method"}
    )
    factories.finding(accused_op="conv2d", bucket=accused.bucket, parts={})
    row = next(
        one
        for one in client.get(OPERATORS, {"q": "conv2d", "sort": "-findings"}).context["page"]
        if one.spec.name == "conv2d"
    )
    assert (row.found, row.buckets, row.findings) == (2, 1, {"numerical": 2})
    assert shown(client, OPERATORS, state="accused") == ["conv2d"]
    text = client.get(f"{OPERATORS}relu/").content.decode()
    link = f"{reverse('triage:list-buckets')}?status=all&amp;op=relu"
    assert link in text
    assert len(client.get(link.replace("&amp;", "&")).context["page"].object_list) == 1


@pytest.mark.usefixtures("person")
@pytest.mark.parametrize("name", list(OPS)[::12])
def test_page_of_an_operator_shows_every_form(client: Client, name: str) -> None:
    response = client.get(f"{OPERATORS}{name}/")
    assert response.status_code == 200
    shown_forms = sum(len(table) for _, table in response.context["forms"])
    assert shown_forms == sum(len(table) for table in OPS[name].forms.values())


@pytest.mark.usefixtures("person")
def test_operator_says_what_it_requires_and_where_it_occurs(client: Client) -> None:
    shard = factories.shard(recorded_rounds=7)
    assert shard.seed == SEED
    response = client.get(f"{OPERATORS}conv2d/")
    assert any("groups" in one for one in response.context["requirements"])
    assert [used.rounds for seed, _, used in response.context["seeds"] if seed.name == SEED] == [7]
    assert ("operator.insertion.branch.convolution", "conv2d") in response.context["mutations"]


# ------------------------------------------------------------------------------------- seeds
@pytest.mark.usefixtures("person")
def test_seeds_are_listed_by_scale(client: Client) -> None:
    rows = client.get(SEED_LIST).context["rows"]
    assert [row.seed.name for row in rows] == list(SEEDS)
    rows = client.get(SEED_LIST, {"scale": "compact"}).context["rows"]
    assert {row.seed.scale for row in rows} == {"compact"}
    assert "No seed is of this scale" in client.get(SEED_LIST, {"scale": "x"}).content.decode()


@pytest.mark.usefixtures("person")
def test_seed_shows_its_graph_its_campaigns_and_what_was_found(client: Client) -> None:
    campaign = factories.campaign(name="Night", shards=2)
    shard = factories.shard(campaign=campaign, recorded_rounds=5, state_findings=2)
    factories.finding(shard=shard, symptom="state")
    response = client.get(f"{SEED_LIST}{SEED}/")
    assert response.context["campaigns"] == [(campaign, 5, 2)]
    text = response.content.decode()
    for said in ("63,754", "Night", f"status=all&amp;seed={SEED}", "data-panzoom", "As a table"):
        assert said in text, said
    assert next(iter(response.context["counts"])) in response.context["figure"].plot["data"][0]["y"]


@pytest.mark.usefixtures("person")
def test_graph_comes_as_text_as_picture_and_as_a_panel(client: Client) -> None:
    base = f"{SEED_LIST}{SEED}/"
    text = client.get(f"{base}graph.flow")
    assert text.content.decode() == SEEDS[SEED].file.read_text(encoding="utf-8")
    assert f'filename="{SEED}.flow"' in text["Content-Disposition"]
    assert client.get(f"{base}graph.svg").content.startswith(b"<")
    assert "<html" in client.get(f"{base}graph/").content.decode()
    assert (
        "<html" not in client.get(f"{base}graph/", headers={"HX-Request": "true"}).content.decode()
    )


# --------------------------------------------------------------------------------------- API
def test_stranger_gets_nothing_from_the_api(client: Client) -> None:
    for name in ("mutations", "operators", "seeds"):
        assert client.get(f"/api/{name}/").status_code in (401, 403)


@pytest.mark.usefixtures("person")
def test_api_gives_the_rows_that_the_pages_show(client: Client) -> None:
    shard = factories.shard(recorded_rounds=1)
    made = {"mutator": CLONE, "variant": "clone", "parent": "a", "digest": "b"}
    factories.mutant(shard=shard, round=0, accepted=True, **made)
    factories.finding(shard=shard, mutator=f"{CLONE}.clone", accused_op="relu", symptom="crash")
    answer = client.get("/api/mutations/", {"q": "copy", "object": "tensor", "limit": "100"}).json()
    assert answer["count"] == len(shown(client, MUTATIONS, q="copy", object="tensor"))
    one = client.get(f"/api/mutations/{CLONE}/").json()
    assert one in answer["results"]
    variant = next(each for each in one["variants"] if each["name"] == "clone")
    assert (variant["rounds"], variant["is_proven"]) == (1, True)
    assert variant["findings"] == {"crash": 1}
    operator = client.get("/api/operators/relu/").json()
    assert operator["forms"]["torch"]["function"]["call"] == "F.relu({x})"
    assert operator["findings"] == {"crash": 1}
    seed = client.get(f"/api/seeds/{SEED}/").json()
    assert (seed["parameters"], seed["rounds"], seed["findings"]) == (63_754, 1, {"crash": 1})
    found = client.get("/api/seeds/", {"scale": "compact"}).json()["results"]
    assert {each["scale"] for each in found} == {"compact"}
    for path in ("mutations/no.such.row", "operators/zebra", "seeds/zebra"):
        assert client.get(f"/api/{path}/").status_code == 404


# ---------------------------------------------------------------------------------- together
@pytest.mark.usefixtures("person")
@pytest.mark.parametrize(
    ("path", "count"),
    [
        (MUTATIONS, 8),
        (f"{MUTATIONS}{CLONE}/", 13),
        (OPERATORS, 8),
        (f"{OPERATORS}relu/", 9),
        (SEED_LIST, 11),
        (f"{SEED_LIST}{SEED}/", 15),
    ],
)
def test_query_count_does_not_grow(
    client: Client, django_assert_num_queries: Queries, path: str, count: int
) -> None:
    for size in (1, 6):
        for number in range(size):
            shard = factories.shard(campaign=factories.campaign(status="running", shards=2))
            factories.mutant(
                shard=shard,
                round=number,
                accepted=True,
                mutator=CLONE,
                variant="clone",
                parent="a",
                digest="b",
                further=[f"{VALUES}.nan"],
            )
            factories.finding(shard=shard, mutator=f"{CLONE}.clone", accused_op="relu")
        with django_assert_num_queries(count):
            assert client.get(path).status_code == 200
