// Reads the golden files: https://pkg.go.dev/golang.org/x/tools/txtar.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export type Sections = Map<string, string>;

export function parse(text: string): Sections {
  const sections: Sections = new Map();
  let name = "";
  for (const line of text.split(/(?<=\n)/)) {
    const head = /^-- (.+) --\n?$/.exec(line);
    if (head) {
      name = head[1];
      sections.set(name, "");
    } else if (name) {
      sections.set(name, sections.get(name) + line);
    }
  }
  return sections;
}

const root = fileURLToPath(new URL("../../../../", import.meta.url));

// The runs, and the frames that the encoder makes of them.
export const runs = `${root}testdata/runs/`;
export const frames = `${root}protocol/agui/testdata/runs/`;

export function read(dir: string): [name: string, sections: Sections][] {
  return readdirSync(dir)
    .filter((f) => f.endsWith(".txtar"))
    .map((f) => [f.replace(/\.txtar$/, ""), parse(readFileSync(dir + f, "utf8"))]);
}
