import { ChevronRight } from "lucide-react";
import { Fragment, type ReactNode } from "react";
import type { components } from "../api/schema";
import { useLanguage, type Key } from "../i18n/i18n";
import { Json } from "./json";

type Block = components["schemas"]["Block"];

/** A message of a request to a model, or the answer. */
export interface Told {
  id?: string;
  role: string;
  content: Block[];
  tool_calls?: { id: string; name: string; arguments?: unknown }[];
}

/** Fold is a part that opens at a click, with how many things it has. */
export function Fold({ title, count, open, children }: { title: string; count?: number; open?: boolean; children: ReactNode }) {
  const { number } = useLanguage();
  return (
    <details open={open} className="group/fold">
      <summary className="touch flex min-h-7 cursor-pointer list-none items-center gap-1.5 [&::-webkit-details-marker]:hidden">
        <ChevronRight aria-hidden className="size-3.5 text-muted group-open/fold:rotate-90" />
        <span className="font-medium">{title}</span>
        {count !== undefined && <span className="mono text-muted">{number(count)}</span>}
      </summary>
      <div className="pt-1 pb-2 pl-5">{children}</div>
    </details>
  );
}

/** Blocks shows what a message consists of. If credentials were removed from it, their places stand out. */
export function Blocks({ blocks, cleaned }: { blocks: Block[]; cleaned?: boolean }) {
  return blocks.map((b, i) => {
    if (b.type === "text" && "text" in b)
      return (
        <p key={i} className="prose-model">
          <Text text={b.text} cleaned={cleaned} />
        </p>
      );
    if (b.type === "thinking" && "thinking" in b)
      return (
        <p key={i} className="prose-model text-muted">
          <Text text={b.thinking} cleaned={cleaned} />
        </p>
      );
    return <Json key={i} value={b} label={b.type ?? "JSON"} />;
  });
}

const REMOVED = /\bREMOVED\b/; // what the server writes in the place of a credential

/** removedFrom counts the credentials that the server has removed from a value. */
export const removedFrom = (value: unknown) => JSON.stringify(value).split(REMOVED).length - 1;

function Text({ text, cleaned }: { text: string; cleaned?: boolean }) {
  const { t } = useLanguage();
  if (!cleaned) return text;
  return text.split(REMOVED).map((part, i) => (
    <Fragment key={i}>
      {i > 0 && (
        <mark className="rounded-sm bg-sunken px-1 text-wait" title={t("traces.removedHint")}>
          REMOVED
        </mark>
      )}
      {part}
    </Fragment>
  ));
}

/** Messages shows messages, each with who said it and the calls that it makes. */
export function Messages({ list, cleaned }: { list: Told[]; cleaned?: boolean }) {
  const { t } = useLanguage();
  return (
    <ul className="flex flex-col gap-2">
      {list.map((m, i) => (
        <li key={m.id ?? i}>
          <span className="text-dense font-semibold text-muted">{t(`role.${m.role}` as Key)}</span>
          <Blocks blocks={m.content} cleaned={cleaned} />
          {m.tool_calls?.map((c) => (
            <p key={c.id} className="mono [overflow-wrap:anywhere]">
              {c.name}{" "}
              <span className="text-muted">
                <Text text={JSON.stringify(c.arguments) ?? ""} cleaned={cleaned} />
              </span>
            </p>
          ))}
        </li>
      ))}
    </ul>
  );
}

/** Offered lists the tools that a model was offered, each with its schema. */
export function Offered({ tools }: { tools: { name: string; description?: string }[] }) {
  return (
    <ul>
      {tools.map((tool) => (
        <li key={tool.name}>
          <details>
            <summary className="min-h-6 cursor-pointer">
              <span className="mono">{tool.name}</span> <span className="text-muted">{tool.description}</span>
            </summary>
            <Json value={tool} label={tool.name} />
          </details>
        </li>
      ))}
    </ul>
  );
}
