"""Computing a grid: in blocks, on local processes or a Dask cluster, each block kept as soon as it is there."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from slmopt.serving.simulate import Cancelled, Progress
from slmopt.specs.base import SpecError
from slmopt.sweep.grid import Grid, block

BLOCK = 16
"""Points a block: small enough that little is lost when a sweep is stopped, and that all cores end together."""

_KEY = b"slmopt_sweep"

Block = tuple[int, int]
Results = Iterator[tuple[Block, list[dict[str, Any]]]]
Work = Callable[[str, list[Block]], Results]


def sweep(
    of: Grid,
    out: Path,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """The grid's table, also written to ``out`` as Parquet.

    ``cluster`` is the address of a Dask scheduler; without it ``workers`` processes of this machine compute (as many as
    it has cores where None). Rows are in the grid's order and the same to the bit either way. What is computed is kept
    beside ``out`` until all of it is: started again, the sweep goes on where it stopped. Raises
    :class:`~slmopt.specs.base.SpecError` where ``out`` holds another table, and
    :class:`~slmopt.serving.simulate.Cancelled` where ``progress`` returns False.
    """
    done = _finished(of, out)
    if done is not None:
        return done
    parts = out.with_name(f"{out.name}.parts")
    kept = parts / of.digest[:16]
    kept.mkdir(parents=True, exist_ok=True)
    blocks = [(start, min(start + BLOCK, len(of))) for start in range(0, len(of), BLOCK)]
    missing = [one for one in blocks if not _part(kept, one).is_file()]
    ready = len(blocks) - len(missing)
    work = _on_cluster(cluster) if cluster is not None else _on_processes(workers)
    text = of.model_dump_json()
    for at, (one, rows) in enumerate(work(text, missing), start=1):
        _write(pd.DataFrame(rows), _part(kept, one), of)
        if progress is not None and not progress((ready + at) / len(blocks)):
            raise Cancelled
    table = pd.concat([pd.read_parquet(_part(kept, one)) for one in blocks], ignore_index=True)
    _write(table, out, of)
    shutil.rmtree(parts)
    return table


def _finished(of: Grid, out: Path) -> pd.DataFrame | None:
    """The table of an earlier run of the same sweep; None where there is none."""
    if not out.exists():
        return None
    try:
        kept = pq.read_schema(out).metadata or {}
    except (OSError, pa.ArrowInvalid) as error:
        raise SpecError(f"{out.name} exists and is no Parquet file: give another name.") from error
    if kept.get(_KEY) != of.digest.encode():
        raise SpecError(f"{out.name} holds another table: give another name, or remove it first.")
    return pd.read_parquet(out)


def _part(folder: Path, one: Block) -> Path:
    return folder / f"{one[0]:07d}-{one[1]:07d}.parquet"


def _write(table: pd.DataFrame, path: Path, of: Grid) -> None:
    """Under its name only when complete, so that a sweep that is stopped leaves no half file behind."""
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), _KEY: of.digest.encode()})
    half = path.with_name(f"{path.name}.half")
    pq.write_table(arrow, half)
    half.replace(path)


def _on_processes(workers: int | None) -> Work:
    count = max(1, workers or os.cpu_count() or 1)

    def work(text: str, blocks: list[Block]) -> Results:
        # Started fresh: a copy of a process that has threads may hang.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(count, max(1, len(blocks))), mp_context=context) as pool:
            asked: dict[Future[list[dict[str, Any]]], Block] = {
                pool.submit(block, text, *one): one for one in blocks
            }
            try:
                for future in as_completed(asked):
                    yield asked[future], future.result()
            except BrokenProcessPool as error:
                raise SpecError(
                    "A worker process ended early, perhaps for lack of memory: start the sweep again with fewer --workers."
                ) from error
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    return work


def _on_cluster(address: str) -> Work:
    def work(text: str, blocks: list[Block]) -> Results:
        with _client(address) as (client, completed):
            asked = {client.submit(block, text, *one, pure=False): one for one in blocks}
            for future in completed(list(asked)):
                yield asked[future], future.result()

    return work


@contextmanager
def _client(address: str) -> Iterator[tuple[Any, Callable[[list[Any]], Any]]]:
    """A client of the cluster, and Dask's way to wait for results."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise SpecError(
            'A cluster needs Dask, which is not installed: pip install "slmopt[cluster]".'
        ) from error
    try:
        client = distributed.Client(address, timeout=10)
    except (OSError, ValueError, TimeoutError) as error:
        raise SpecError(
            f"No Dask scheduler answers at {address}: give its address, such as tcp://host:8786."
        ) from error
    with client:
        yield client, distributed.as_completed
