// Uses the modules of Node.js that depend on the system. It fails if a result is wrong.
const assert = require("assert");
const childProcess = require("child_process");
const crypto = require("crypto");
const dns = require("dns/promises");
const fs = require("fs");
const http = require("http");
const os = require("os");
const path = require("path");
const zlib = require("zlib");
const { once } = require("events");
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");

async function serve(handler) {
  const server = http.createServer(handler).listen(0, "localhost");
  await once(server, "listening");
  const response = await fetch(`http://localhost:${server.address().port}/`);
  const text = await response.text();
  server.close();
  server.closeAllConnections();
  return text;
}

async function main() {
  const [doubled] = await once(new Worker(__filename, { workerData: 21 }), "message");
  assert.equal(doubled, 42);
  assert.equal(os.userInfo().uid, process.getuid());
  assert(os.hostname() && os.homedir() && os.cpus().length && os.totalmem());
  assert.deepEqual(Object.keys(os.networkInterfaces()), ["lo"]);
  assert.equal(zlib.gunzipSync(zlib.gzipSync("x".repeat(1000))).length, 1000);
  assert.equal(zlib.brotliDecompressSync(zlib.brotliCompressSync("text")).toString(), "text");
  assert.equal(crypto.scryptSync("p", "s", 16).length, 16);
  assert.equal(crypto.generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.type, "public");
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "standard-"));
  fs.writeFileSync(`${directory}/file`, "content");
  fs.copyFileSync(`${directory}/file`, `${directory}/copy`);
  fs.symlinkSync("file", `${directory}/link`);
  assert.deepEqual(fs.readdirSync(directory), ["copy", "file", "link"]);
  assert(fs.realpathSync(`${directory}/link`).endsWith("/file"));
  const sendFile = (_, response) => fs.createReadStream(`${directory}/copy`).pipe(response);
  assert.equal(await serve(sendFile), "content");
  assert.equal(childProcess.execFileSync("sh", ["-c", "echo $((1 + 2))"]).toString(), "3\n");
  assert.equal(childProcess.spawnSync("cat", { input: "pipe" }).stdout.toString(), "pipe");
  assert((await dns.lookup("localhost")).address);
  const time = new Date(0).toLocaleString("de-DE", { timeZone: "Europe/Berlin" });
  assert.equal(time, "1.1.1970, 01:00:00");
}

if (isMainThread) {
  main();
} else {
  parentPort.postMessage(workerData * 2);
}
