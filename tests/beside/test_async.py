"""Async retrievers and async fixtures, with pytest-asyncio in both modes and anyio."""

from __future__ import annotations

import pytest

from tests.beside.conftest import Beside

SUITE = "queries:\n" + "".join(
    f"  - {{query: q{i}, relevant: [d{i}], must_find: [d{i}]}}\n" for i in range(6)
)
LINES = "thresholds: {recall@10: 0.9}\nconcurrency: 3\ntimeout: 10s\n"

# A client that works in the event loop it was made in and in no other, as those of databases and search engines do.
CLIENT = """
import asyncio

class Client:
    def __init__(self):
        self.loop, self.asked, self.tasks = asyncio.get_running_loop(), [], asyncio.Semaphore(2)

    async def search(self, query, k):
        assert asyncio.get_running_loop() is self.loop
        async with self.tasks:
            await asyncio.sleep(0.01)
        self.asked.append(query)
        return ["d" + query[1:]]

    async def close(self):
        assert asyncio.get_running_loop() is self.loop
        print("CLOSED after", sorted(self.asked))
"""

BODY = """
async def retriever({arguments}):
    client = Client()
    yield client
    await client.close()
"""


LOOPS = "asyncio_default_fixture_loop_scope"
CLOSED = "CLOSED after ['q0', 'q1', 'q2', 'q3', 'q4', 'q5']"


def run(beside: Beside, plugin: str, *args: str) -> pytest.RunResult:
    return beside.run("--ir-suite", "-s", "-W", "error", *args, plugins=[plugin])


@pytest.mark.needs("pytest_asyncio")
@pytest.mark.parametrize("mode", ["auto", "strict"])
@pytest.mark.parametrize("scope", ["function", "module", "session"])
def test_a_fixture_of_pytest_asyncio(beside: Beside, mode: str, scope: str) -> None:
    decorator = "pytest.fixture" if mode == "auto" else "pytest_asyncio.fixture"
    beside.project.suite(SUITE + LINES)
    beside.project.conftest(
        f"import pytest_asyncio\n{CLIENT}\n@{decorator}(scope={scope!r})"
        + BODY.format(arguments="")
    )
    result = run(beside, "asyncio", "-o", f"{LOOPS}={scope}", f"--asyncio-mode={mode}")
    result.assert_outcomes(passed=7)
    assert CLOSED in result.stdout.str()


@pytest.mark.needs("pytest_asyncio")
def test_a_parametrised_fixture_of_pytest_asyncio(beside: Beside) -> None:
    beside.project.suite(SUITE + LINES)
    beside.project.conftest(
        f"{CLIENT}\n@pytest.fixture(scope='session', params=['old', 'new'])"
        + BODY.format(arguments="request")
    )
    run(beside, "asyncio", "-o", f"{LOOPS}=session", "--asyncio-mode=auto").assert_outcomes(
        passed=14
    )


@pytest.mark.needs("anyio")
@pytest.mark.parametrize("scope", ["function", "module", "session"])
def test_a_fixture_of_anyio_on_asyncio(beside: Beside, scope: str) -> None:
    beside.project.suite(SUITE + LINES)
    backend = f"@pytest.fixture(scope={scope!r})\ndef anyio_backend(): return 'asyncio'\n"
    beside.project.conftest(
        f"{backend}{CLIENT}\n@pytest.fixture(scope={scope!r})"
        + BODY.format(arguments="anyio_backend")
    )
    result = run(beside, "anyio")
    result.assert_outcomes(passed=7)
    assert CLOSED in result.stdout.str()


@pytest.mark.needs("pytest_asyncio")
def test_a_fixture_that_no_plugin_awaits_gets_a_clear_error(beside: Beside) -> None:
    beside.project.suite(SUITE)
    beside.project.conftest(f"{CLIENT}\n@pytest.fixture" + BODY.format(arguments=""))
    result = beside.run("--ir-suite", "-W", "default", plugins=[])  # older pytests only warn of it
    result.assert_outcomes(errors=6)
    told = result.stdout.str()  # by a newer pytest itself
    assert "requested an async fixture" in told or "is async and nothing has awaited it" in told
