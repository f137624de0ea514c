"""The one reader: what is too large, too deep, altered or not text is one sentence, before any parser sees it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from giveway.core.checked import (
    OWN,
    Expect,
    known_sha256,
    read_arrays,
    read_bytes,
    read_json,
    read_parquet,
    read_sealed,
    read_text,
    read_toml,
    read_weights,
    sha256_of_file,
)
from giveway.core.errors import FileFormatError, StoreError
from giveway.core.seals import NO_SEAL, SealError, open_seal, seal, seal_weights, sha256_of_bytes


def _put(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def test_bytes_with_another_digest_are_refused_with_both_digests_named(tmp_path: Path) -> None:
    path = _put(tmp_path, "a", b"hello")
    assert read_bytes(path, limit=5, sha256=sha256_of_bytes(b"hello")) == b"hello"
    with pytest.raises(StoreError) as caught:
        read_bytes(path, limit=5, sha256="0" * 64, expect=OWN)
    assert caught.value.found is not None
    assert sha256_of_bytes(b"hello")[:16] in caught.value.found
    assert caught.value.hint


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FileFormatError, match="too large"):
        read_bytes(path, limit=1 << 20)


def test_a_missing_file_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_bytes(tmp_path / "no", limit=1)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a\nb\0c", "NUL"),
        ("a".encode("utf-16"), "UTF-8"),
        (b"a\n\xff", "UTF-8"),
    ],
)
def test_text_that_is_none_is_refused_with_its_line(tmp_path: Path, data: bytes, said: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_text(_put(tmp_path, "t", data))
    assert said in str(caught.value)
    assert "line" in str(caught.value.where)


def test_a_byte_order_mark_of_utf8_is_dropped(tmp_path: Path) -> None:
    assert read_text(_put(tmp_path, "t", b"\xef\xbb\xbfab")) == "ab"


@pytest.mark.parametrize("data", [b"[" * 20_000, b'{"a":' * 20_000, b"[" * 65 + b"]" * 65])
def test_deep_json_is_refused_before_it_is_parsed(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(FileFormatError, match="does not parse") as caught:
        read_json(_put(tmp_path, "d.json", data))
    assert "64" in str(caught.value.found)


def test_json_of_the_deepest_allowed_nesting_and_brackets_in_strings_are_read(tmp_path: Path) -> None:
    deepest = b"[" * 64 + b"]" * 64
    assert read_json(_put(tmp_path, "a.json", deepest)) == json.loads(deepest)
    text = json.dumps({"a": '"' + "[" * 500 + '\\"', "b": ["{" * 200]})
    assert read_json(_put(tmp_path, "b.json", text.encode())) == json.loads(text)


@given(
    st.recursive(st.text(max_size=5) | st.integers(-(2**63), 2**63), lambda x: st.lists(x, max_size=4), max_leaves=40)
)
def test_any_ordinary_document_is_read_as_it_is(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.getbasetemp() / "ordinary.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    assert read_json(path) == value


@pytest.mark.parametrize("number", ["1" * 5000, "-" + "9" * 22, "0." + "1" * 300_000])
def test_numbers_of_absurd_length_are_refused_in_json(tmp_path: Path, number: str) -> None:
    with pytest.raises(FileFormatError, match="does not parse"):
        read_json(_put(tmp_path, "n.json", f'{{"a": {number}}}'.encode()))


def test_long_digits_inside_strings_are_no_numbers(tmp_path: Path) -> None:
    assert read_json(_put(tmp_path, "n.json", b'["' + b"1" * 90 + b'", 1.5, 7]')) == ["1" * 90, 1.5, 7]


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 20_000, "a = " + "1" * 5000, ".".join("a" * 300) + " = 1", "a" * 2000 + " = 1", "a = {b=" * 100],
)
def test_hostile_toml_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileFormatError, match="does not parse"):
        read_toml(_put(tmp_path, "h.toml", text.encode()))


def test_ordinary_toml_is_read(tmp_path: Path) -> None:
    text = '# [[[\n[a.b]\nx = [1, 2.5]\ny = "' + "[" * 100 + "\"\nz = '''\n{{{\n'''\nt = 2020-01-01T00:00:00Z\n"
    found = read_toml(_put(tmp_path, "o.toml", text.encode()))
    assert found["a"]["b"]["x"] == [1, 2.5]
    assert found["a"]["b"]["z"] == "{{{\n"


def test_every_single_bit_flip_of_a_sealed_document_is_refused(tmp_path: Path) -> None:
    data = seal(b'{"b":[1,2],"a":"text"}')
    path = _put(tmp_path, "s.json", data)
    assert read_sealed(path).document == {"a": "text", "b": [1, 2]}
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(StoreError):
            read_sealed(path)
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(StoreError):
            read_sealed(path)


def test_a_document_of_an_earlier_release_is_read_as_unsealed_unless_a_seal_is_needed(tmp_path: Path) -> None:
    path = _put(tmp_path, "s.json", b'{"a": 1}\n')
    assert read_sealed(path).seal is None
    with pytest.raises(StoreError, match="damaged"):
        read_sealed(path, needs_seal=True)


def test_only_an_object_with_entries_can_be_sealed() -> None:
    for body in (b"{}", b"[1]", b"", b"{ }"):
        with pytest.raises(ValueError, match="object"):
            seal(body)
    assert open_seal(seal(b'{"a":1}\n'))[0] == b'{"a":1}'
    with pytest.raises(SealError):
        open_seal(b'{"a":1}'[:-1])


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="lz4")
    return buffer.getvalue()


def test_damaged_parquet_without_digest_is_a_sentence_and_never_a_panic(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = _parquet(pl.DataFrame({"id": ["a", "b", "c"] * 50, "x": np.arange(150.0)}))
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(150):
        changed = bytearray(data)
        for at in rng.integers(0, len(data), 3):
            changed[at] ^= 1 << int(rng.integers(8))
        try:
            read_parquet(_put(tmp_path, "t.parquet", bytes(changed)), limit_rows=10_000)
        except FileFormatError:
            refused += 1
    assert refused > 50
    assert "panicked" not in capfd.readouterr().err


def test_a_table_with_another_digest_never_reaches_polars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _put(tmp_path, "t.parquet", _parquet(pl.DataFrame({"x": [1.0]})))
    assert read_parquet(path, sha256=sha256_of_file(path), schema={"x": pl.Float64})["x"].to_list() == [1.0]

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the parser saw bytes that were not checked")

    monkeypatch.setattr(pl, "read_parquet", never)
    with pytest.raises(StoreError, match="not what was written"):
        read_parquet(path, sha256="0" * 64, expect=OWN)


def test_a_table_with_too_many_rows_or_other_columns_is_refused(tmp_path: Path) -> None:
    path = _put(tmp_path, "t.parquet", _parquet(pl.DataFrame({"x": [1.0] * 11})))
    with pytest.raises(FileFormatError) as caught:
        read_parquet(path, limit_rows=10)
    assert "11 rows" in str(caught.value.found)
    with pytest.raises(FileFormatError, match="other columns"):
        read_parquet(path, schema={"x": pl.Int64})


def test_arrays_are_read_without_unpickling_and_bombs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(3.0), names=np.array(["a", "b"]))
    assert read_arrays(path, names=("x",))["x"].tolist() == [0.0, 1.0, 2.0]
    np.savez(path, x=np.array([{}], dtype=object))
    with pytest.raises(FileFormatError, match="arrays"):
        read_arrays(path)
    np.savez_compressed(path, x=np.zeros(1_000_000))
    with pytest.raises(FileFormatError) as caught:
        read_arrays(path, limit=100_000)
    assert "unpacked" in str(caught.value.found)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", header.getvalue())
    with pytest.raises(FileFormatError, match="arrays"):
        read_arrays(path)


def test_every_flip_of_a_sealed_weights_file_is_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save

    tensors = {"w": np.arange(4, dtype=np.float32)}
    data = seal_weights(save(tensors, metadata={"format": "test", "seal": NO_SEAL}))
    path = _put(tmp_path, "w.safetensors", data)
    found, facts = read_weights(path)
    assert found["w"].tolist() == [0, 1, 2, 3]
    assert facts == {"format": "test"}
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(FileFormatError):
            read_weights(path)
    for size in range(0, len(data), 3):
        path.write_bytes(data[:size])
        with pytest.raises(FileFormatError):
            read_weights(path)
    path.write_bytes(save(tensors))
    assert read_weights(path)[1] == {}


def test_the_digest_of_a_process_notices_a_flip_with_size_and_time_restored(tmp_path: Path) -> None:
    path = _put(tmp_path, "a", b"hello")
    before = path.stat()
    assert known_sha256(path) == sha256_of_bytes(b"hello")
    with path.open("rb+") as file:
        file.write(b"jello")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert known_sha256(path) == sha256_of_bytes(b"jello")


def test_the_sentence_is_what_the_caller_expects(tmp_path: Path) -> None:
    expect = Expect(error=StoreError, what="a plan", hint="run it again")
    with pytest.raises(StoreError) as caught:
        read_sealed(tmp_path / "none.json", expect=expect)
    assert caught.value.what == "a plan cannot be read"
    assert caught.value.hint == "run it again"


def test_the_reader_imports_no_heavy_library() -> None:
    code = (
        "import sys, giveway.core.checked;"
        "sys.exit(bool({'polars', 'torch', 'safetensors', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
