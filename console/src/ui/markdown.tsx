import { Fragment, memo, useMemo, type ReactNode } from "react";

/** Blocks of Markdown as models write it. HTML is text, and images are links: nothing is loaded by itself. */
type Block =
  | { kind: "p" | "quote"; text: string }
  | { kind: "heading"; level: number; text: string }
  | { kind: "code"; lang: string; text: string }
  | { kind: "list"; ordered: boolean; start: number; items: string[] }
  | { kind: "table"; head: string[]; rows: string[][] }
  | { kind: "rule" };

const fence = /^\s{0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const item = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const cells = (line: string) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((c) => c.trim());

/** blocksOf splits a text into blocks. What is not Markdown is a paragraph. */
export function blocksOf(text: string): Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const out: Block[] = [];
  for (let i = 0; i < lines.length; ) {
    const line = lines[i]!;
    const open = fence.exec(line);
    if (open) {
      const body: string[] = [];
      for (i++; i < lines.length && !lines[i]!.trim().startsWith(open[1]!); i++) body.push(lines[i]!);
      i++; // a fence that is still open ends with the text
      out.push({ kind: "code", lang: open[2] ?? "", text: body.join("\n") });
    } else if (line.trim() === "") {
      i++;
    } else if (/^#{1,6}\s/.test(line)) {
      const level = /^#+/.exec(line)![0].length;
      out.push({ kind: "heading", level, text: line.slice(level).replace(/\s#+\s*$/, "").trim() });
      i++;
    } else if (/^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/.test(line)) {
      out.push({ kind: "rule" });
      i++;
    } else if (/^\s{0,3}>/.test(line)) {
      const body: string[] = [];
      for (; i < lines.length && /^\s{0,3}>/.test(lines[i]!); i++) body.push(lines[i]!.replace(/^\s{0,3}>\s?/, ""));
      out.push({ kind: "quote", text: body.join("\n") });
    } else if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[i + 1] ?? "") && (lines[i + 1] ?? "").includes("-")) {
      const rows: string[][] = [];
      const head = cells(line);
      for (i += 2; i < lines.length && lines[i]!.includes("|"); i++) rows.push(cells(lines[i]!));
      out.push({ kind: "table", head, rows });
    } else if (item.test(line)) {
      const first = item.exec(line)!;
      const items: string[] = [];
      for (; i < lines.length; i++) {
        const m = item.exec(lines[i]!);
        if (m) items.push(m[1] && items.length > 0 ? `${"\u2003".repeat(Math.min(4, m[1].length >> 1))}${m[3]}` : m[3]!);
        else if (lines[i]!.trim() !== "" && /^\s+/.test(lines[i]!)) items[items.length - 1] += "\n" + lines[i]!.trim();
        else break;
      }
      out.push({ kind: "list", ordered: first[2] !== undefined, start: Number(first[2] ?? 1), items });
    } else {
      const body: string[] = [];
      for (; i < lines.length && lines[i]!.trim() !== "" && !fence.test(lines[i]!) && !/^#{1,6}\s/.test(lines[i]!) && !(body.length > 0 && item.test(lines[i]!)); i++) body.push(lines[i]!);
      out.push({ kind: "p", text: body.join("\n") });
    }
  }
  return out;
}

/** safe returns the address of a link that may be followed, or "": http, https and mailto lead where they say. */
export function safe(href: string): string {
  try {
    const url = new URL(href);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : "";
  } catch {
    return "";
  }
}

const inline = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|!?\[([^\]]*)\]\(\s*<?([^\s)>]+)>?(?:\s+"[^"]*")?\s*\)|\*\*(?=\S)([\s\S]*?\S)\*\*|(?<![\w*])[*_](?=\S)([^*_]*?\S)[*_](?!\w)|~~(?=\S)([\s\S]*?\S)~~|https?:\/\/[^\s<>()"'`]+[^\s<>()"'`.,;:!?]/g;

function A({ href, children }: { href: string; children: ReactNode }) {
  const to = safe(href);
  if (!to) return <>{children}</>;
  return (
    <a href={to} target="_blank" rel="noopener noreferrer nofollow" className="link underline" title={to}>
      {children}
    </a>
  );
}

const LARGE = 20_000;

function inlined(text: string, depth = 0): ReactNode[] {
  if (text.length > LARGE) return [text]; // a paragraph of this size is data
  const out: ReactNode[] = [];
  let last = 0;
  for (const m of text.matchAll(inline)) {
    if (m.index > last) out.push(text.slice(last, m.index));
    last = m.index + m[0].length;
    const key = m.index;
    const inner = (t: string) => (depth < 6 ? inlined(t, depth + 1) : [t]);
    if (m[1] !== undefined)
      out.push(
        <code key={key} className="mono rounded-sm bg-sunken px-1">
          {m[2]!.trim() || m[2]}
        </code>,
      );
    else if (m[4] !== undefined)
      out.push(
        <A key={key} href={m[4]}>
          {m[3] ? inner(m[3]) : m[4]}
        </A>,
      );
    else if (m[5] !== undefined) out.push(<strong key={key}>{inner(m[5])}</strong>);
    else if (m[6] !== undefined) out.push(<em key={key}>{inner(m[6])}</em>);
    else if (m[7] !== undefined) out.push(<del key={key}>{inner(m[7])}</del>);
    else
      out.push(
        <A key={key} href={m[0]}>
          {m[0]}
        </A>,
      );
  }
  if (last < text.length) out.push(text.slice(last));
  return out;
}

const same = (a: { block: Block }, b: { block: Block }) => JSON.stringify(a.block) === JSON.stringify(b.block);

const BlockView = memo(function BlockView({ block: b }: { block: Block }) {
  switch (b.kind) {
    case "p":
      return <p className="whitespace-pre-wrap">{inlined(b.text)}</p>;
    case "quote":
      return <blockquote className="border-l-2 border-line pl-3 whitespace-pre-wrap text-muted">{inlined(b.text)}</blockquote>;
    case "heading":
      return <p className={`font-semibold ${b.level <= 2 ? "text-title" : ""}`}>{inlined(b.text)}</p>;
    case "code":
      return (
        <pre tabIndex={0} aria-label={b.lang || "code"} className="mono max-h-96 overflow-auto rounded-md bg-sunken p-2">
          {b.text}
        </pre>
      );
    case "list": {
      const List = b.ordered ? "ol" : "ul";
      return (
        <List start={b.ordered ? b.start : undefined} className={`${b.ordered ? "list-decimal" : "list-disc"} pl-5`}>
          {b.items.map((text, i) => (
            <li key={i} className="whitespace-pre-wrap">
              {inlined(text)}
            </li>
          ))}
        </List>
      );
    }
    case "table":
      return (
        <div tabIndex={0} role="group" aria-label={b.head.join(", ")} className="overflow-x-auto">
          <table className="border-collapse">
            <thead>
              <tr>
                {b.head.map((c, i) => (
                  <th key={i} scope="col" className="border border-line bg-sunken px-2 py-1 text-left">
                    {inlined(c)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {b.rows.map((r, i) => (
                <tr key={i}>
                  {b.head.map((_, j) => (
                    <td key={j} className="border border-line px-2 py-1">
                      {inlined(r[j] ?? "")}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case "rule":
      return <hr className="border-line" />;
  }
}, same);

/** Markdown shows the text of a model. A text that grows is read again, but only what changed is shown again. */
export function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return (
    <div className="flex flex-col gap-2 [overflow-wrap:anywhere]">
      {blocks.map((b, i) => (
        <Fragment key={i}>
          <BlockView block={b} />
        </Fragment>
      ))}
    </div>
  );
}
