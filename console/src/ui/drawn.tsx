import { useMemo } from "react";
import { useLanguage } from "../i18n/i18n";
import { drawingTools, outline, program, type Part } from "./outline";

/** Drawn outlines the interface that a call has drawn: what a user reads in it, not how it looks. */
export function Drawn({ tool, args, result }: { tool: string; args: unknown; result?: unknown }) {
  const { t } = useLanguage();
  const surfaces = useMemo(() => (drawingTools.has(tool) ? outline(tool, args, result) : []), [tool, args, result]);
  const code = useMemo(() => program(tool, args, result), [tool, args, result]);
  if (code) {
    return (
      <figure aria-label={t("drawn.title")} className="flex flex-col gap-1">
        <figcaption className="text-dense text-muted">{t("drawn.title")}</figcaption>
        <pre tabIndex={0} className="mono max-h-80 overflow-auto rounded-md border border-line p-2 whitespace-pre-wrap">
          {code}
        </pre>
      </figure>
    );
  }
  return surfaces.map((s) => (
    <figure key={s.id} aria-label={t("drawn.title")} className="flex flex-col gap-1">
      <figcaption className="text-dense text-muted">
        {t("drawn.title")} {s.id && <span className="mono">{s.id}</span>}
      </figcaption>
      <div className="rounded-md border border-line p-3">{s.parts.length ? <Parts list={s.parts} /> : <p className="text-muted">{t("drawn.nothing")}</p>}</div>
    </figure>
  ));
}

function Parts({ list }: { list: Part[] }) {
  return (
    <ul className="flex flex-col gap-1">
      {list.map((p, i) => (
        <li key={i} className="[overflow-wrap:anywhere]">
          <PartView part={p} />
        </li>
      ))}
    </ul>
  );
}

function PartView({ part: p }: { part: Part }) {
  if (p.action !== undefined) {
    const words = p.text ?? p.parts.map((x) => x.text).filter(Boolean).join(" ");
    return (
      <span className="inline-flex items-baseline gap-2 rounded-md border border-line px-2 py-1">
        {words || p.type} <span className="mono text-dense text-muted">{p.action}</span>
      </span>
    );
  }
  return (
    <>
      {(p.text !== undefined || p.value !== undefined || p.parts.length === 0) && (
        <p>
          <span className="mr-2 text-dense text-muted">{p.type}</span>
          {p.text}
          {p.value !== undefined && <span className="mono ml-2 rounded-sm bg-sunken px-1">{p.value}</span>}
        </p>
      )}
      {p.parts.length > 0 && (
        <div className="border-l border-line pl-3">
          <Parts list={p.parts} />
        </div>
      )}
    </>
  );
}
