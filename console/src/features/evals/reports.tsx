import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { FileUp } from "lucide-react";
import { useRef, useState } from "react";
import { api, ask } from "../../api/client";
import type { Item } from "../../api/evals";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Page } from "../../ui/page";
import { Empty } from "../../ui/state";
import { reportsOf } from "./matrix";
import { Results } from "./results";
import type { EvalSearch } from "./search";

type Side = "report" | "baseline";

/** Reports shows reports of the command line, from files. The server computes their figures and keeps nothing. */
export function Reports() {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as EvalSearch;
  const [files, setFiles] = useState<Partial<Record<Side, { name: string; items: Item[] }>>>({});
  const [bad, setBad] = useState("");
  const [over, setOver] = useState(false);
  const inputs = { report: useRef<HTMLInputElement>(null), baseline: useRef<HTMLInputElement>(null) };
  const take = async (side: Side, list: FileList | null) => {
    const file = list?.[0];
    if (!file) return;
    setBad("");
    try {
      const items = reportsOf(await file.text());
      setFiles((f) => ({ ...f, [side]: { name: file.name, items } }));
    } catch (err) {
      setBad(t("import.bad", { name: file.name, error: (err as Error).message }));
    }
  };
  const items = files.report?.items;
  const before = files.baseline?.items;
  const figures = useQuery({
    queryKey: ["evals", "compare", files.report?.name, files.baseline?.name, items, before],
    queryFn: ({ signal }) => ask(api.POST("/v1/eval/compare", { body: { items: items!, baseline: before }, signal })),
    enabled: items !== undefined,
    retry: false,
  });
  return (
    <Page
      crumbs={[{ text: t("nav.evals"), to: "/evals" }, { text: t("evals.files") }]}
      actions={(["report", "baseline"] as const).map((side) => (
        <span key={side}>
          <input
            ref={inputs[side]}
            type="file"
            hidden
            accept=".ndjson,.jsonl,.json"
            onChange={(e) => {
              void take(side, e.target.files);
              e.target.value = "";
            }}
          />
          <Button kind={side === "report" ? "primary" : "plain"} onClick={() => inputs[side].current?.click()}>
            <FileUp aria-hidden className="size-3.5" />
            {files[side]?.name ?? t(`evals.file.${side}` as Key)}
          </Button>
        </span>
      ))}
    >
      <div
        className={`flex min-h-0 flex-1 flex-col ${over ? "bg-sunken" : ""}`}
        onDragOver={(e) => {
          e.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(e) => {
          e.preventDefault();
          setOver(false);
          void take(items && !before ? "baseline" : "report", e.dataTransfer.files);
        }}
      >
        {(bad || figures.error) && (
          <p role="alert" className="border-b border-line px-4 py-2 text-fail [overflow-wrap:anywhere]">
            {bad || figures.error?.message}
          </p>
        )}
        {items ? (
          <Results items={items} statistics={figures.data?.statistics ?? []} diff={figures.data?.diff} comparisons={figures.data?.comparisons} before={before} search={search} set={(change) => void navigate({ to: "/evals/reports", search: { ...search, ...change }, replace: true })} />
        ) : (
          <Empty title={t("evals.filesEmpty")} icon={FileUp}>
            {t("evals.filesHint")}
          </Empty>
        )}
      </div>
    </Page>
  );
}
