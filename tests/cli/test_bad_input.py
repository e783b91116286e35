"""Bad input: exit code 2 and one line on stderr that says what is wrong; never a traceback, never half an answer."""

from __future__ import annotations

import pytest

from tests.cli.command import CARD, MODEL_7B, call


def refused(*arguments: str) -> str:
    answer = call(*arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("slmopt: ")
    assert answer.err.count("\n") == 1
    assert len(answer.err) < 1200
    return answer.err


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ("--prompt -5", "--prompt = -5"),
        ("--prompt 0", "--prompt = 0"),
        ("--prompt nan", "--prompt: 'nan'"),
        ("--prompt inf", "--prompt: 'inf'"),
        ("--prompt 1.5", "'1.5' is not a whole number"),
        ("--prompt ten", "'ten' is not a number"),
        ("--prompt 1e400", "--prompt"),
        ("--prompt 99999999999999999999", "--prompt = 99999999999999999999"),
        (f"--prompt {'9' * 5000}", "--prompt"),
        ("--prompt", "--prompt"),
        ("--output 0", "--output = 0"),
        ("--batch 0", "--batch = 0"),
        ("--context -1", "--context = -1"),
        ("--weights nan", "--weights: bits"),
        ("--weights -4", "--weights: bits = -4"),
        ("--weights 0", "--weights: bits = 0"),
        ("--weights 100", "--weights: bits = 100"),
        ("--weights q4_k_n", "Did you mean"),
        ("--kv 0", "--kv: bits = 0"),
        ("--kv q99", "--kv: "),
        ("--kv-v nope", "--kv-v: "),
        ("--prompt 1000 --prefix-hit 1000", "at most prompt - 1 = 999"),
        ("--shared-prefix 999999", "--shared-prefix = 999999"),
        ("--acceptance 1.5 --draft-tokens 4", "--acceptance = 1.5"),
        ("--acceptance nan --draft-tokens 4", "--acceptance: 'nan'"),
        ("--draft-tokens 4", "--draft-tokens needs --acceptance"),
        ("--acceptance .7 --draft-tokens 99", "--draft-tokens = 99"),
        ("--acceptance .7 --draft-tokens 4 --draft-cost -1", "--draft-cost = -1"),
        ("--acceptance .7 --draft-tokens 4 --draft-model nope", "--draft-model: "),
        ("--draft-cost 0.1 --draft-model llama-3.2-1b", "--draft-model"),
        ("--bandwidth-fraction 0", "--bandwidth-fraction = 0"),
        ("--compute-fraction 2", "--compute-fraction = 2"),
        ("--fixed-ms -1", "--fixed-ms = -1"),
        ("--capacity-gb 0", "--capacity-gb = 0"),
        ("--engine fast", "--engine"),
        ("--compute fp12", "--compute"),
        ("--gpu-layers -1", "--gpu-layers = -1"),
        ("--n-cpu-moe -1", "--n-cpu-moe = -1"),
        ("--n-cpu-moe 2", "has no experts"),
        ("--devices 2 --gpu-layers 3", "--devices = 2: partial offload is computed for one card"),
        ("--devices 33 --parallel pipeline", "--devices = 33: 7B has 32 layers"),
        ("--devices 2 --parallel expert", "has no experts"),
        ("--devices 2 --parallel sideways", "--parallel"),
        ("--devices 0", "--devices = 0"),
        ("--link-gbs 0 --devices 2", "--link-gbs = 0"),
        ("--link-latency-us -1 --devices 2", "--link-latency-us = -1"),
        ("--gpu-layers 3 --host nope", "--host: "),
        ("--micro-batch 0", "--micro-batch = 0"),
        ("--gpu-memory-utilization 1.5", "--gpu-memory-utilization = 1.5"),
        ("--promt 10", "--promt"),
    ],
)
def test_flags(flags: str, named: str):
    assert named in refused("estimate", "--model", MODEL_7B, "--device", CARD, *flags.split())


@pytest.mark.parametrize(
    "model",
    [
        "",
        "no-such-model",
        "llama-3.2-1",
        "{",
        "[1]",
        "{}",
        '{"params": -1}',
        '{"params": 0}',
        '{"params": NaN}',
        '{"params": 1e300}',
        '{"params": true}',
        '{"params": "many"}',
        '{"params": ' + "9" * 5000 + "}",
        '{"params": ' + "9" * 400 + "}",
        '{"params": 1e9, "layer": 3}',
        '{"params": 1e9, "layers": -1}',
        '{"groups": []}',
        '{"groups": [{}]}',
        '{"hidden_size": 64}',
        "[" * 5000,
        '{"a":' * 3000,
        "x" * 100_000,
        "a\nb",
        "a\0b",
        "model.gguf",
        "model.safetensors",
        "/no/such/place/config.json",
    ],
)
def test_models(model: str):
    assert "--model" in refused("estimate", "--model", model, "--device", CARD)


@pytest.mark.parametrize(
    "device",
    [
        "",
        "no-such-card",
        "{}",
        '{"bandwidth_gbs": 0}',
        '{"bandwidth_gbs": -3}',
        '{"bandwidth_gbs": NaN}',
        '{"bandwidth_gbs": 1e-300}',
        '{"bandwidth_gbs": "fast"}',
        '{"bandwidth_gbs": 10, "peak_tflops": -1}',
        '{"bandwidth_gbs": 10, "peak_tflops": {"fp99": 1}}',
        '{"bandwidth_gbs": 10, "peak_tflops": [1]}',
        '{"bandwidth_gbs": 10, "capacity_gb": 0}',
        '{"bandwidth_gbs": 10, "capacity_gb": 1, "capacity_gib": 1}',
        '{"bandwidth_gbs": 10, "units": []}',
        '{"bandwidth_gbs": 10, "units": 3}',
    ],
)
def test_devices(device: str):
    assert "--device" in refused("estimate", "--model", MODEL_7B, "--device", device)


@pytest.mark.parametrize(
    "weights", ['{"recipe": "q9_z"}', '{"bits": 4, "recipe": "q4_0"}', '{"bits": NaN}', "{}"]
)
def test_weights(weights: str):
    assert "--weights" in refused("estimate", "--model", MODEL_7B, "--device", CARD, "--weights", weights)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "UTF-8"),
        ('{"params": 1e9}'.encode("utf-16"), "UTF-8"),
        (b'{"params": 1e9', "JSON"),
        (b"null", "null"),
        (b"\xef\xbb\xbf[]", "list"),
    ],
)
@pytest.mark.parametrize("flag", ["--model", "--device"])
def test_files(tmp_path, content: bytes, said: str, flag: str):
    file = tmp_path / "strange.json"
    file.write_bytes(content)
    other = {"--model": ("--device", CARD), "--device": ("--model", MODEL_7B)}[flag]
    message = refused("estimate", flag, str(file), *other)
    assert flag in message
    assert said in message


def test_a_folder_is_no_file(tmp_path):
    assert "config.json" in refused("inspect", str(tmp_path))
    assert "folder" in refused("compare", str(tmp_path))
    assert "folder" in refused("estimate", "--model", MODEL_7B, "--device", str(tmp_path))


def test_an_unreadable_file(tmp_path, monkeypatch):
    file = tmp_path / "device.json"
    file.write_text(CARD)

    def denied(*_args, **_more):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", denied)
    assert "Permission denied" in refused("estimate", "--model", MODEL_7B, "--device", str(file))


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nonsense",),
        ("estimate",),
        ("estimate", "--model", MODEL_7B),
        ("inspect",),
        ("models", "x"),
        ("compare",),
    ],
)
def test_commands(arguments: tuple[str, ...]):
    refused(*arguments)


def test_values_are_shown_on_one_line_and_cut():
    message = refused("estimate", "--model", "a\n" * 5000, "--device", CARD)
    assert "…" in message
