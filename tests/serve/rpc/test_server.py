from __future__ import annotations

import datetime
import ipaddress
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from giveway.core.errors import UsageError
from giveway.predictors import make_predictor
from giveway.serve.rpc.client import Connection, inputs_of, predict_for, push_of
from giveway.serve.rpc.exchange import Exchange
from giveway.serve.rpc.server import PredictionServer, ServerOptions
from serve.rpc.conftest import Served, Talk, both_ways


def certificate(folder: Path) -> tuple[Path, Path]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    cert_file, key_file = folder / "cert.pem", folder / "key.pem"
    cert_file.write_bytes(built.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return cert_file, key_file


@both_ways
def test_encrypted_sessions_work_and_plain_clients_stay_outside(
    serve: Callable[..., Served], tmp_path: Path, stream: bool
) -> None:
    cert, key = certificate(tmp_path)
    served = serve(deadline_s=30.0, server={"tls_cert": cert, "tls_key": key})
    with grpc.insecure_channel(served.address) as channel, pytest.raises(grpc.RpcError):
        channel.unary_unary("/service.SimulatorServer/FetchEnv")(b"", timeout=2)
    connection = Connection(served.address, root_certificate=cert.read_bytes(), stream=stream)
    report = predict_for(connection, make_predictor("echo"))
    assert report.predicted == 10


def test_a_port_in_use_is_said_and_not_shared() -> None:
    first = PredictionServer(Exchange(compat=False, deadline_s=1.0), ServerOptions(port=0))
    first.start()
    try:
        with pytest.raises(UsageError, match="cannot listen"):
            PredictionServer(Exchange(compat=False, deadline_s=1.0), ServerOptions(port=first.port))
    finally:
        first.stop()


def test_a_certificate_without_its_key_is_refused(tmp_path: Path) -> None:
    exchange = Exchange(compat=False, deadline_s=1.0)
    with pytest.raises(UsageError, match="certificate and its key"):
        PredictionServer(exchange, ServerOptions(port=0, tls_cert=tmp_path / "cert.pem"))
    with pytest.raises(UsageError, match="cannot be read"):
        PredictionServer(exchange, ServerOptions(port=0, tls_cert=tmp_path / "a", tls_key=tmp_path / "b"))


def test_only_addresses_others_can_reach_are_warned_about(tmp_path: Path) -> None:
    assert ServerOptions().warnings() == []
    assert len(ServerOptions(host="0.0.0.0").warnings()) == 2
    safe = ServerOptions(host="0.0.0.0", token="x", tls_cert=tmp_path / "c", tls_key=tmp_path / "k")
    assert safe.warnings() == []


SECOND = """
import sys
from giveway.serve.rpc.client import Connection
from giveway.serve.rpc.messages import PushMyTrajectoryRequest

connection = Connection(sys.argv[1], name="same", session=sys.argv[2] or None, stream=False)
print(connection.push(PushMyTrajectoryRequest.FromString(bytes.fromhex(sys.stdin.read()))).resp_code)
print(connection.fetch()[0].resp_code)
"""


def test_a_name_alone_does_not_let_a_second_connection_push_but_the_secret_of_the_session_does(
    serve: Callable[..., Served],
) -> None:
    served = serve(deadline_s=120.0, takeover_s=120.0)
    first = Talk(served.address, stream=False, name="same")
    car = first.fetch_car()
    inputs = inputs_of(car, {})
    push = push_of(make_predictor("echo").predict(inputs, inputs.generator()), inputs, car.my_traj.state[-1].track_id)
    secret = first.connection.session
    assert secret

    def second(secret: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", SECOND, served.address, secret],
            input=push.SerializeToString().hex(), capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        return done.stdout.split()

    assert second("") == ["-1", "3"]
    assert second("guessed") == ["-1", "3"]
    assert second(secret)[0] == "0"
    first.connection.close()
