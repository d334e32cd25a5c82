"""Async retrievers and async fixtures, with pytest-asyncio in both modes and anyio."""

from __future__ import annotations

import pytest

from tests.compatibility.conftest import Neighborhood

SUITE = "queries:\n" + "".join(
    f"  - {{query: q{i}, relevant: [d{i}], must_find: [d{i}]}}\n" for i in range(6)
)
SETTINGS = "thresholds: {recall@10: 0.9}\nconcurrency: 3\ntimeout: 10s\n"


# Like clients of databases and search engines, it works only in the event loop that created it.
CLIENT = """
import asyncio

class Client:
    def __init__(self):
        self.loop, self.queries, self.tasks = asyncio.get_running_loop(), [], asyncio.Semaphore(2)

    async def search(self, query, k):
        assert asyncio.get_running_loop() is self.loop
        async with self.tasks:
            await asyncio.sleep(0.01)
        self.queries.append(query)
        return ["d" + query[1:]]

    async def close(self):
        assert asyncio.get_running_loop() is self.loop
        print("CLOSED after", sorted(self.queries))
"""

BODY = """
async def retriever({arguments}):
    client = Client()
    yield client
    await client.close()
"""

LOOP_SCOPE = "asyncio_default_fixture_loop_scope"
CLOSED = "CLOSED after ['q0', 'q1', 'q2', 'q3', 'q4', 'q5']"


def run(neighborhood: Neighborhood, plugin: str, *arguments: str) -> pytest.RunResult:
    return neighborhood.run("--ir-suite", "-s", "-W", "error", *arguments, plugins=[plugin])


@pytest.mark.needs("pytest_asyncio")
@pytest.mark.parametrize("mode", ["auto", "strict"])
@pytest.mark.parametrize("scope", ["function", "module", "session"])
def test_fixture_of_pytest_asyncio_works(neighborhood: Neighborhood, mode: str, scope: str) -> None:
    decorator = "pytest.fixture" if mode == "auto" else "pytest_asyncio.fixture"
    neighborhood.project.write_suite(SUITE + SETTINGS)
    neighborhood.project.write_conftest(
        f"import pytest_asyncio\n{CLIENT}\n@{decorator}(scope={scope!r})"
        + BODY.format(arguments="")
    )

    result = run(neighborhood, "asyncio", "-o", f"{LOOP_SCOPE}={scope}", f"--asyncio-mode={mode}")

    assert result.ret == 0, result.stdout.str()
    assert CLOSED in result.stdout.str()


@pytest.mark.needs("pytest_asyncio")
def test_parametrized_fixture_of_pytest_asyncio_works(neighborhood: Neighborhood) -> None:
    neighborhood.project.write_suite(SUITE + SETTINGS)
    neighborhood.project.write_conftest(
        f"{CLIENT}\n@pytest.fixture(scope='session', params=['old', 'new'])"
        + BODY.format(arguments="request")
    )

    result = run(neighborhood, "asyncio", "-o", f"{LOOP_SCOPE}=session", "--asyncio-mode=auto")

    assert result.ret == 0, result.stdout.str()
    assert result.stdout.str().count(CLOSED) == 2


@pytest.mark.needs("anyio")
@pytest.mark.parametrize("scope", ["function", "module", "session"])
def test_fixture_of_anyio_on_asyncio_works(neighborhood: Neighborhood, scope: str) -> None:
    neighborhood.project.write_suite(SUITE + SETTINGS)
    backend = f"@pytest.fixture(scope={scope!r})\ndef anyio_backend(): return 'asyncio'\n"
    neighborhood.project.write_conftest(
        f"{backend}{CLIENT}\n@pytest.fixture(scope={scope!r})"
        + BODY.format(arguments="anyio_backend")
    )

    result = run(neighborhood, "anyio")

    assert result.ret == 0, result.stdout.str()
    assert CLOSED in result.stdout.str()


@pytest.mark.needs("pytest_asyncio")
def test_async_fixture_that_no_plugin_awaits_is_an_error(neighborhood: Neighborhood) -> None:
    neighborhood.project.write_suite(SUITE)
    neighborhood.project.write_conftest(f"{CLIENT}\n@pytest.fixture" + BODY.format(arguments=""))

    # Older versions of pytest only warn about it.
    result = neighborhood.run("--ir-suite", "-W", "default", plugins=[])

    output = result.stdout.str()
    assert result.ret not in (0, 1), output
    assert "async" in output
