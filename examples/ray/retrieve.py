"""Run the queries of all suites with Ray, in shards. `pytest --ir-suite --ir-runs=runs` joins them.

Each shard is a Ray task that runs pytest with `--ir-save-runs=FOLDER,shard=I/N`. If its worker
dies, Ray runs the task again. The files come back to this process, so the workers need no shared
disk.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import pytest
import ray

HERE = Path(__file__).parent
MAX_RETRIES = 3
# Exit statuses of pytest: all passed, some failed. With any other, the shard is not complete.
COMPLETE_STATUSES = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


# A worker ends after each task, because pytest cannot run twice cleanly in one process.
@ray.remote(max_retries=MAX_RETRIES, max_calls=1)
def retrieve_shard(index: int, count: int) -> dict[str, bytes]:
    """Run the queries of one shard, and return its files by name."""
    with tempfile.TemporaryDirectory() as folder:
        target = f"--ir-save-runs={folder},shard={index}/{count}"
        status = pytest.main(["--ir-suite", target, "--ir-report=none", "-q", "--tb=short"])
        if status not in COMPLETE_STATUSES:
            raise RuntimeError(f"Shard {index}/{count}: pytest ended with status {int(status)}")
        return {path.name: path.read_bytes() for path in Path(folder).glob("*.jsonl")}


def retrieve(count: int, target: Path) -> None:
    """Run all shards, and write their files into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.jsonl"):
        old.unlink()  # a shard of an earlier division would not fit
    pending = [retrieve_shard.remote(index, count) for index in range(1, count + 1)]
    while pending:
        (done,), pending = ray.wait(pending, num_returns=1)
        for name, content in ray.get(done).items():
            (target / name).write_bytes(content)
            print(f"{target / name}: {len(content):,} bytes", flush=True)


def read_commit() -> str:
    """Return the commit of the project, or an empty string outside git."""
    command = ["git", "rev-parse", "HEAD"]
    result = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    return result.stdout.strip()


def main() -> None:
    """Parse the arguments, and run the shards on the local machine or a cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--runs", type=Path, default=HERE / "runs")
    parser.add_argument("--address", help="The cluster, such as ray://head:10001.")
    given = parser.parse_args()
    # Ray copies the project to its workers, and they run in the copy. It has no `.git`, so a
    # variable says from which commit the answers are.
    environment = {
        "working_dir": str(HERE),
        "excludes": ["runs", ".git", "ir-report.html"],
        "env_vars": {"GIT_COMMIT": read_commit()},
    }
    ray.init(address=given.address, runtime_env=environment)
    retrieve(given.shards, given.runs)


if __name__ == "__main__":
    main()
