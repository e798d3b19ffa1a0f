// The built server, as a process of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const binary = process.env.AWAKEN_BIN;

export async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((done) => probe.listen(0, "127.0.0.1", done));
  const { port } = probe.address() as { port: number };
  await new Promise((done) => probe.close(done));
  return port;
}

/** A server with the demo's agents on a store of its own, with settings in YAML. */
export class Server {
  url = "";
  private process?: ChildProcess;
  private port = 0;
  readonly folder = mkdtempSync(join(tmpdir(), "awaken-e2e-"));

  constructor(private settings = "") {}

  async start(): Promise<this> {
    if (!binary) throw new Error("AWAKEN_BIN names no program: go build -o awaken ./cmd/awaken");
    this.port ||= await freePort();
    writeFileSync(join(this.folder, "awaken.yaml"), this.settings);
    const child = spawn(binary, ["serve", "--seed", "demo", "--address", `127.0.0.1:${this.port}`, "--storage-dir", this.folder], {
      env: { PATH: process.env.PATH, HOME: this.folder },
      stdio: ["ignore", "pipe", "pipe"],
      cwd: this.folder,
    });
    this.process = child;
    let said = "";
    await new Promise<void>((ready, failed) => {
      const hear = (data: Buffer) => {
        said += data;
        if (said.includes("listens on")) ready();
      };
      child.stdout!.on("data", hear);
      child.stderr!.on("data", hear);
      child.once("exit", (code) => failed(new Error(`the server ended with ${code}: ${said}`)));
    });
    this.url = `http://127.0.0.1:${this.port}`;
    return this;
  }

  /** Ends the process, and returns when it is gone. */
  async end(signal: NodeJS.Signals = "SIGTERM") {
    const child = this.process!;
    child.removeAllListeners("exit");
    const gone = new Promise((done) => child.once("exit", done));
    child.kill(signal);
    await gone;
  }

  async restart(signal: NodeJS.Signals = "SIGTERM") {
    await this.end(signal);
    await this.start();
  }

  async close() {
    await this.end("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
