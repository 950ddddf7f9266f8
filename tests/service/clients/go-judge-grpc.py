"""Calls pb.Executor with the gRPC library of Google. The arguments are HOST:PORT and the
directory of the protocol file."""

import queue
import sys

import grpc
from google.protobuf import empty_pb2

address, protocol = sys.argv[1:]
sys.path.insert(0, protocol)
pb, services = grpc.protos_and_services("go_judge.proto")

channel = grpc.insecure_channel(address)
executor = services.ExecutorStub(channel)


def command(script, *files):
    return pb.Request.CmdType(
        args=["sh", "-c", script],
        env=["PATH=/usr/bin:/bin"],
        files=files,
        cpuTimeLimit=20_000_000_000,
        clockTimeLimit=60_000_000_000,
        memoryLimit=128 << 20,
        procLimit=20,
    )


def collector(name):
    return pb.Request.File(pipe=pb.Request.PipeCollector(name=name, max=1000))


memory = pb.Request.File(memory=pb.Request.MemoryFile(content=b"\xff\x00in"))
cmd = command("cat; cat copy; exit 3", memory, collector("stdout"), collector("stderr"))

# Stored files.
file_id = executor.FileAdd(pb.FileContent(name="name", content=b"\xfestored")).fileID
assert dict(executor.FileList(empty_pb2.Empty()).fileIDs) == {
    file_id: "name"
}
assert executor.FileGet(pb.FileID(fileID=file_id)).content == b"\xfestored"
cmd.copyIn["copy"].cached.fileID = file_id
cmd.symlinks["link"] = "copy"
cmd.copyOutCached.add(name="link2", optional=True)

# One command. Bytes are exact.
response, call = executor.Exec.with_call(pb.Request(requestID="one", cmd=[cmd]))
metadata = dict(call.initial_metadata())
assert metadata["millibox-run-id"].startswith("r_"), metadata
assert metadata["millibox-outcome"] == "exited", metadata
assert metadata["millibox-queued-ms"].isdigit(), metadata
result = response.results[0]
assert response.requestID == "one"
assert result.status == pb.Response.Result.NonZeroExitStatus, result
assert (result.exitStatus, result.files["stdout"]) == (3, b"\xff\x00in\xfestored"), result
assert result.time > 0 and result.memory > 0 and result.runTime > 0, result

executor.FileDelete(pb.FileID(fileID=file_id))
for call in (executor.FileGet, executor.FileDelete):
    try:
        call(pb.FileID(fileID=file_id))
        raise AssertionError("the file is deleted")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.NOT_FOUND, error

# A pipe.
request = pb.Request(
    cmd=[
        command("echo piped", memory, pb.Request.File(), collector("stderr")),
        command("cat", pb.Request.File(), collector("stdout")),
    ],
)
pipe = request.pipeMapping.add()
getattr(pipe, "in").index, getattr(pipe, "in").fd = 0, 1
pipe.out.index, pipe.out.fd = 1, 0
results = executor.Exec(request).results
assert results[1].files["stdout"] == b"piped\n", results

# Errors.
for request, code in [
    (pb.Request(), grpc.StatusCode.INVALID_ARGUMENT),
    (pb.Request(cmd=[cmd]), grpc.StatusCode.INTERNAL),
]:
    try:
        executor.Exec(request)
        raise AssertionError("the request is not valid")
    except grpc.RpcError as error:
        assert error.code() == code, error

# A conversation.
messages = queue.SimpleQueue()
stream_in, stream_out = pb.Request.File(), pb.Request.File()
stream_in.streamIn.SetInParent()
stream_out.streamOut.SetInParent()
script = "read a; echo got $a; read b; echo got $b"
request = pb.Request(requestID="talk", cmd=[command(script, stream_in, stream_out)])
messages.put(pb.StreamRequest(execRequest=request))
answers = executor.ExecStream(iter(messages.get, None))
for word in (b"one", b"two"):
    content = word + b"\n"
    messages.put(pb.StreamRequest(execInput=pb.StreamRequest.Input(index=0, fd=0, content=content)))
    output = next(answers).execOutput
    assert (output.index, output.fd, output.content) == (0, 1, b"got " + content), output
last = next(answers).execResponse
assert last.requestID == "talk" and last.results[0].status == pb.Response.Result.Accepted, last
assert list(answers) == []
messages.put(None)

print("passed")
