// The official reference servers of MCP, as servers of documents: everything (on standard input and output, streamable HTTP and HTTP+SSE), filesystem,
// memory and sequential-thinking. The scripted model calls their tools.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { Server, freePort } from "./server";

const key = "an-admin-key-of-this-test-only";
const bin = (name: string) => resolve("node_modules/.bin", `mcp-server-${name}`);
const folder = realpathSync(mkdtempSync(join(tmpdir(), "awaken-mcp-")));
const names = ["everything", "filesystem", "memory", "sequential-thinking"];
const server = new Server(`admin:\n  bearer_token: ${key}\nserver:\n  mcp_commands: [${names.map(bin).join(", ")}]\noutbound:\n  allow: [127.0.0.0/8]\n`);
const addresses: ChildProcess[] = [];

const ask = async (method: string, path: string, body?: unknown): Promise<any> => {
  const res = await fetch(server.url + path, { method, headers: { "Content-Type": "application/json", Accept: "application/json", Authorization: `Bearer ${key}` }, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await res.text();
  assert.ok(res.ok, `${method} ${path}: ${res.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
};
const connect = async (id: string, document: object) => {
  await ask("POST", "/v1/config/mcp-servers", { id, ...document });
  await ask("POST", `/v1/mcp-servers/${id}/restart`);
  const status = await ask("GET", `/v1/mcp-servers/${id}/status`);
  assert.ok(status.tools.length > 0, JSON.stringify(status));
  return status.tools.map((t: any) => t.name as string);
};
let threads = 0;
const call = async (tool: string, args: object, thread = `mcp-${threads++}`) =>
  ask("POST", "/v1/runs", { agent_id: "default", thread_id: thread, messages: [{ role: "user", content: `RUN_TOOL ${tool} ${JSON.stringify(args)}` }] });
const says = async (tool: string, args: object, want: RegExp) => assert.match((await call(tool, args)).response, want);

// Starts the server everything at an address, and returns when it listens.
const listen = async (transport: string) => {
  const port = await freePort();
  const child = spawn(process.execPath, [bin("everything"), transport], { env: { ...process.env, PORT: String(port) }, stdio: ["ignore", "pipe", "pipe"] });
  addresses.push(child);
  for (let i = 0; i < 1200; i++) {
    if (await fetch(`http://127.0.0.1:${port}/`).then(() => true, () => false)) return port;
    await new Promise((next) => setTimeout(next, 100));
  }
  throw new Error(`everything does not listen by ${transport}`);
};

before(async () => void (await server.start()));
after(async () => {
  for (const child of addresses) child.kill("SIGKILL");
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

const everything = async (id: string) => {
  await says(`mcp__${id}__echo`, { message: "hello there" }, /hello there/);
  await says(`mcp__${id}__get_sum`, { a: 2, b: 40 }, /42/);
  await says(`mcp__${id}__get_structured_content`, { location: "Chicago" }, /temperature/);
  await says(`mcp__${id}__list_resources`, {}, /demo:\/\//);
  await says(`mcp__${id}__get_prompt`, { name: "simple-prompt" }, /prompt/i);
};

test("everything, on standard input and output", async () => {
  const tools = await connect("everything", { transport: "stdio", command: bin("everything") });
  assert.ok(tools.includes("echo") && tools.includes("get-sum"), tools.join(" "));
  await everything("everything");
});

test("everything, by streamable HTTP", async () => {
  const port = await listen("streamableHttp");
  await connect("web", { transport: "http", url: `http://127.0.0.1:${port}/mcp` });
  await everything("web");
});

test("everything, by HTTP+SSE", async () => {
  const port = await listen("sse");
  await connect("sse", { transport: "sse", url: `http://127.0.0.1:${port}/sse` });
  await everything("sse");
});

test("everything: progress is shown while the call runs", async () => {
  const res = await fetch(server.url + "/v1/runs", { method: "POST", headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ agent_id: "default", messages: [{ role: "user", content: 'RUN_TOOL mcp__everything__trigger_long_running_operation {"duration":1,"steps":4}' }] }) });
  const text = await res.text();
  assert.match(text, /tool-call-progress/, text);
  assert.match(text, /completed/i);
});

test("filesystem: files of its folder, and no others", async () => {
  writeFileSync(join(folder, "a.txt"), "the text of a");
  await connect("files", { transport: "stdio", command: bin("filesystem"), args: [folder] });
  await says("mcp__files__read_text_file", { path: join(folder, "a.txt") }, /the text of a/);
  await call("mcp__files__write_file", { path: join(folder, "b.txt"), content: "written" });
  assert.equal(readFileSync(join(folder, "b.txt"), "utf8"), "written");
  await says("mcp__files__read_text_file", { path: "/etc/passwd" }, /denied|outside/i);
  await says("mcp__files__list_directory", { path: folder }, /a\.txt[^]*b\.txt/);
});

test("memory: a graph that outlives the server's process", async () => {
  await connect("memory", { transport: "stdio", command: bin("memory"), env: { MEMORY_FILE_PATH: join(folder, "memory.json") } });
  await call("mcp__memory__create_entities", { entities: [{ name: "Ada", entityType: "person", observations: ["wrote the first program"] }] });
  await ask("POST", "/v1/mcp-servers/memory/restart");
  await says("mcp__memory__search_nodes", { query: "Ada" }, /first program/);
});

test("sequential-thinking", async () => {
  await connect("thinking", { transport: "stdio", command: bin("sequential-thinking") });
  await says("mcp__thinking__sequentialthinking", { thought: "one step", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }, /thoughtNumber|thoughtHistoryLength/);
});

test("the servers come back with the program", async () => {
  await server.restart("SIGKILL");
  for (let i = 0; i < 1200 && (await ask("GET", "/v1/mcp-servers/everything/status")).tools.length === 0; i++) await new Promise((next) => setTimeout(next, 100));
  await says("mcp__everything__echo", { message: "after the crash" }, /after the crash/);
});
