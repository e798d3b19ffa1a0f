import { useQuery } from "@tanstack/react-query";
import { api, ask } from "../../api/client";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Loaded } from "../../ui/state";

const show = (v: unknown) => (typeof v === "string" ? v : JSON.stringify(v, null, 2));

/** DiffView lists the documents that differ between two versions, field by field. */
export function DiffView({ from, to }: { from: string; to: string }) {
  const { t } = useLanguage();
  const query = useQuery({ queryKey: ["versions", "diff", from, to], queryFn: ({ signal }) => ask(api.GET("/v1/registry/diff", { params: { query: { from, to } as never }, signal })) });
  return (
    <Loaded query={query}>
      {(diff) =>
        diff.items.length === 0 ? (
          <p className="text-muted">{t("versions.same")}</p>
        ) : (
          <ul aria-label={t("versions.changes")} className="flex flex-col gap-3">
            {diff.items.map((d) => (
              <li key={`${d.namespace}/${d.id}`} className="panel overflow-hidden">
                <h2 className="flex items-center gap-2 border-b border-line px-4 py-2 font-semibold">
                  <span className="mono">
                    {d.namespace}/{d.id}
                  </span>
                  <span className={`font-normal ${{ add: "text-ok", remove: "text-fail" }[d.op as string] ?? "text-muted"}`}>{t(`op.${d.op}` as Key)}</span>
                </h2>
                <ul className="divide-y divide-line">
                  {(d.changes ?? []).map((c) => (
                    <li key={c.path} className="grid gap-2 px-4 py-2 md:grid-cols-[12rem_minmax(0,1fr)_minmax(0,1fr)]">
                      <span className="mono text-muted [overflow-wrap:anywhere]">{c.path}</span>
                      <del className="mono max-h-60 overflow-auto rounded-sm px-2 text-fail no-underline [overflow-wrap:anywhere] whitespace-pre-wrap">{c.before === undefined ? "" : show(c.before)}</del>
                      <ins className="mono max-h-60 overflow-auto rounded-sm px-2 text-ok no-underline [overflow-wrap:anywhere] whitespace-pre-wrap">{c.after === undefined ? "" : show(c.after)}</ins>
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}
