// A Chat Completions backend over TLS, HTTP/2 or 1.1, by node's own http2 module.
// usage: node h2_backend.mjs KEY CERT   prints its port, then one line for each request: its HTTP version and session
import fs from "node:fs";
import http2 from "node:http2";

const server = http2.createSecureServer({
  key: fs.readFileSync(process.argv[2]),
  cert: fs.readFileSync(process.argv[3]),
  allowHTTP1: true,
});
let sessions = 0;
server.on("session", (session) => (session.number = ++sessions));
server.on("request", (request, answer) => {
  console.log(`${request.httpVersion} ${request.stream?.session?.number ?? 0}`);
  request.resume();
  request.on("end", () => {
    answer.writeHead(200, { "content-type": "text/event-stream" });
    const say = (value) => answer.write(`data: ${JSON.stringify(value)}\n\n`);
    say({ model: "used", choices: [{ index: 0, delta: { content: "over " } }] });
    setTimeout(() => {
      say({ choices: [{ index: 0, delta: { content: "HTTP/2" }, finish_reason: "stop" }] });
      answer.end("data: [DONE]\n\n");
    }, 50);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
