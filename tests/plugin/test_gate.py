"""The settings that guard the gate are read at the base, too."""

from __future__ import annotations

import pytest

from tests.conftest import Once, Project, first
from tests.repository import git

AGAINST = "--ir-baseline=git:main"
GOOD = "@pytest.fixture\ndef retriever(): return lambda query: ['d1', 'd2']\n"
BAD = GOOD.replace("'d1', 'd2'", "'d2', 'd1'")
SUITE = (
    "thresholds: {mrr: 0.9}\nqueries: [{query: a, relevant: [d1]}, {query: b, relevant: [d1]}]\n"
)


@pytest.fixture
def shop(project: Project, once: Once) -> Project:
    return once(project, baseline)


def baseline(project: Project) -> None:
    project.suite(SUITE)
    project.conftest(GOOD)
    (project.path / ".gitignore").write_text("ir-report.html\nout.*\n__pycache__\n")
    git(project.path, "init", "-q", "-b", "main")
    project.run("--ir-update-baseline")


def change(shop: Project, ini: str, then: str, name: str = "pytest.ini", now: str = "") -> None:
    """Commit a base with one ini file, and a change to another."""
    (shop.path / name).write_text(then)
    git(shop.path, "add", "-A")
    git(shop.path, "commit", "-qm", "base")
    git(shop.path, "checkout", "-qb", "change")
    (shop.path / name).unlink()
    (shop.path / (now or name)).write_text(ini)


@pytest.mark.parametrize(
    "ini", first(1, ["addopts = -o ir_accepted=pass", "ir_accepted = pass", ""])
)
@pytest.mark.parametrize("workers", [(), pytest.param(("-n1",), marks=pytest.mark.slow)], ids=str)
def test_no_change_allows_itself_to_accept(
    shop: Project, ini: str, workers: tuple[str, ...]
) -> None:
    change(shop, f"[pytest]\n{ini}\n", "[pytest]\nir_accepted = fail\n")
    shop.conftest(BAD)
    shop.suite(SUITE.replace("0.9", "0.1") + "each_query: {lost_all_relevant: ignore}\n")
    assert shop.run(AGAINST, *workers).ret == 1
    assert shop.run(AGAINST, *workers, "-o", "ir_accepted=pass").ret == 0  # the job's own word


@pytest.mark.parametrize(
    ("name", "then"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]\nir_exam = 'fail'\n"),
        ("tox.ini", "[pytest]\nir_exam = fail\n"),
        ("setup.cfg", "[tool:pytest]\nir_exam = fail\n"),
    ],
)
def test_nor_by_another_ini_file(shop: Project, name: str, then: str) -> None:
    change(shop, "[pytest]\nir_exam = pass\n", then, name, "pytest.ini")
    shop.suite(SUITE.replace("0.9", "0.8"))
    assert shop.run(AGAINST).ret == 1


def test_nor_to_be_judged_in_part(shop: Project) -> None:
    change(shop, "[pytest]\naddopts = -k mrr\n", "[pytest]\nir_strict = true\n")
    assert shop.run(AGAINST).ret == 1
    assert shop.run(AGAINST, "-o", "ir_strict=false").ret == 0


def test_nor_to_look_for_other_suites(shop: Project) -> None:
    (shop.path / "shop.ir.yaml").rename(shop.path / "shop.yaml")
    change(shop, "[pytest]\nir_suite_files = *.ir.yaml\n", "[pytest]\nir_suite_files = shop.*\n")
    shop.conftest(BAD)
    result = shop.run(AGAINST)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["✗ FAILED  shop (shop.yaml): *"])


def test_a_stricter_change_holds_at_once(shop: Project) -> None:
    change(shop, "[pytest]\nir_exam = fail\n", "[pytest]\nir_exam = pass\n")
    shop.suite(SUITE.replace("0.9", "0.8"))
    assert shop.run(AGAINST).ret == 1


def test_nor_by_what_addopts_overrides_at_the_base(shop: Project) -> None:
    change(
        shop, "[pytest]\n", "[pytest]\naddopts = -o ir_exam=fail --override-ini=ir_strict=true\n"
    )
    shop.suite(SUITE.replace("0.9", "0.8"))
    assert shop.run(AGAINST).ret == 1


HIDDEN = {
    "norecursedirs": ("[pytest]\nnorecursedirs = old\n", ""),
    "testpaths": ("[pytest]\ntestpaths = new\n", ""),
    "ignored": ("[pytest]\naddopts = --ignore=old\n", ""),
    "conftest": ("[pytest]\n", "collect_ignore = ['old']\n"),
}


@pytest.mark.parametrize("how", first(1, HIDDEN))
def test_nor_to_pass_over_a_suite(shop: Project, how: str) -> None:
    for name in ("old", "new"):
        shop.suite(SUITE, f"{name}/{name}.ir.yaml")
    (shop.path / "shop.ir.yaml").unlink()
    shop.run("--ir-update-baseline")
    ini, code = HIDDEN[how]
    change(shop, "[pytest]\n", "[pytest]\n")
    (shop.path / "pytest.ini").write_text("[pytest]\nminversion = 7\n")
    shop.conftest(GOOD + "# nothing is hidden\n")
    assert shop.run(AGAINST).ret == 0
    assert "passes over" not in shop.run(AGAINST).stdout.str()
    (shop.path / "pytest.ini").write_text(ini)
    shop.conftest(code + GOOD)
    result = shop.run(AGAINST)
    assert result.ret == 0
    said = "old/old.ir.yaml: not asked: pytest passes over it since this change"
    result.stdout.fnmatch_lines([f"! PARTIAL  *{said}*"])
    assert shop.run(AGAINST, "-o", "ir_accepted=fail").ret == 1
    assert "passes over" not in shop.run(AGAINST, "new").stdout.str()  # which the job asks for


def test_a_suite_behind_a_link_is_collected_and_not_passed_over(shop: Project) -> None:
    (shop.path / "link.ir.yaml").symlink_to("shop.ir.yaml")
    shop.run("--ir-update-baseline")
    change(shop, "[pytest]\n", "[pytest]\n")
    shop.conftest(GOOD + "# nothing is ignored\n")
    assert "passes over" not in shop.run(AGAINST).stdout.str()


ODD = {
    "bom": ("pytest.ini", b"\xef\xbb\xbf[pytest]\nir_exam = fail\n"),
    "comment": ("pytest.ini", b"[pytest]  # see [docs]\nir_exam = fail\n"),
    "lines": ("setup.cfg", b"[tool:pytest] ; [x]\r\nir_exam: fail\r\n"),
    "no word": ("pytest.ini", b"[pytest]\nir_exam = fail  # as agreed\n"),
    "empty": ("pytest.ini", b"[pytest]\nir_exam =\n"),
    "strict": ("pytest.ini", b"[pytest]\nir_strict = y\nir_exam = fail\n"),
}
UNREAD = {
    "utf-16": ("pytest.ini", "[pytest]\nir_exam = fail\n".encode("utf-16")),
    "line": ("tox.ini", b"[pytest]\nir_exam = fail\nir_strict\n"),
    "cfg": ("setup.cfg", b"[pytest]\nir_exam = fail\n"),
    "toml": ("pyproject.toml", b"[tool.pytest.ini_options]\nir_exam = 'fail\n"),
    "quote": ("pytest.ini", b"[pytest]\naddopts = '\nir_exam = fail\n"),
}


def odd(shop: Project, name: str, content: bytes) -> None:
    change(shop, "[pytest]\n", "", name, "pytest.ini")
    git(shop.path, "stash", "-q", "-u")
    git(shop.path, "checkout", "-q", "main")
    (shop.path / name).write_bytes(content)
    git(shop.path, "commit", "-qam", "odd")
    git(shop.path, "checkout", "-q", "change")
    git(shop.path, "reset", "-q", "--hard", "main")
    (shop.path / name).unlink()
    (shop.path / "pytest.ini").write_text("[pytest]\n")


@pytest.mark.parametrize("how", first(2, ODD))
def test_nor_where_the_base_writes_its_ini_file_oddly(shop: Project, how: str) -> None:
    odd(shop, *ODD[how])
    good = shop.run(AGAINST).ret
    assert good == 0 or how == "bom"  # of which not every version of pytest can read the file
    shop.suite(SUITE.replace("0.9", "0.8"))
    assert shop.run(AGAINST).ret == (good or 1)


@pytest.mark.parametrize("how", first(1, UNREAD))
@pytest.mark.parametrize("workers", [(), pytest.param(("-n1",), marks=pytest.mark.slow)], ids=str)
def test_nor_where_the_base_s_ini_file_cannot_be_read(
    shop: Project, how: str, workers: tuple[str, ...]
) -> None:
    odd(shop, *UNREAD[how])
    result = shop.run(AGAINST, *workers)
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {AGAINST.replace('=', ' ')}: its ini file cannot be read: *"])  # fmt: skip


def test_nor_by_no_longer_naming_the_suites(shop: Project) -> None:
    """The patterns of the base count where the change has none of its own."""
    (shop.path / "shop.ir.yaml").rename(shop.path / "shop.gold.yaml")
    change(shop, "[pytest]\n", "[pytest]\nir_suite_files = *.ir.yaml *.gold.yaml\n")
    shop.conftest(BAD)
    result = shop.run(AGAINST)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["✗ FAILED  * (shop.gold.yaml): *"])


def test_an_ini_file_outside_of_the_checkout_holds_for_both_sides(
    shop: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    change(shop, "[pytest]\n", "[pytest]\nir_exam = pass\n")
    outside = tmp_path_factory.mktemp("outside") / "my.ini"
    outside.write_text("[pytest]\nir_exam = fail\n")
    given = "-c", str(outside), f"--rootdir={shop.path}"
    assert shop.run(AGAINST, *given).ret == 0
    shop.suite(SUITE.replace("0.9", "0.8"))
    assert shop.run(AGAINST, *given).ret == 1


def test_a_link_of_the_base_that_leads_outside_is_refused(shop: Project) -> None:
    (shop.path / "tox.ini").symlink_to("../tox.ini")
    change(shop, "[pytest]\n", "", "setup.cfg", "pytest.ini")
    result = shop.run(AGAINST)
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: *its ini file cannot be read: ../tox.ini leaves the repository"]
    )
