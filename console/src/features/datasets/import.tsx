import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useRef, useState } from "react";
import { agentsQuery } from "../../api/agents";
import { api, ask } from "../../api/client";
import { datasetQuery, putDataset, type Case, type Dataset } from "../../api/evals";
import { toMs } from "../../api/time";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { short } from "../../ui/id";
import { Labelled } from "../../ui/labelled";
import { Overlay } from "../../ui/overlay";
import { Loaded } from "../../ui/state";
import { Badge, lookOfRun, stateOf } from "../../ui/status";
import { Ago } from "../../ui/time";
import { casesOf, merged } from "./cases";

type Way = "runs" | "latest" | "file";
const ways: Way[] = ["runs", "latest", "file"];

/** Import adds cases to a dataset: made of runs, or read from a file. */
export function Import({ dataset: d, close }: { dataset: Dataset; close: () => void }) {
  const { t } = useLanguage();
  const client = useQueryClient();
  const [way, setWay] = useState<Way>("runs");
  const [agent, setAgent] = useState("");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [dialogue, setDialogue] = useState(false);
  const [scripts, setScripts] = useState(true);
  const [most, setMost] = useState(20);
  const [file, setFile] = useState<{ name: string; cases: Case[] }>();
  const [bad, setBad] = useState("");
  const [told, setTold] = useState("");
  const agents = useQuery(agentsQuery);
  const runs = useQuery({
    queryKey: ["runs", "import", agent],
    queryFn: ({ signal }) => ask(api.GET("/v1/runs", { params: { query: { status: "done", root: true, limit: 50, agent_id: agent || undefined } as never }, signal })),
    enabled: way === "runs",
  });
  const input = useRef<HTMLInputElement>(null);
  const group = useId();
  const provider_script_mode = scripts ? "optional" : "skip";
  const go = useMutation({
    mutationFn: async (): Promise<string> => {
      const at = { params: { path: { id: d.id } } };
      if (way === "file") {
        const known = new Set(d.spec.fixtures.map((c) => c.id));
        const again = file!.cases.filter((c) => known.has(c.id)).length;
        await putDataset(d, { ...d.spec, fixtures: merged(d.spec.fixtures, file!.cases) });
        return t("import.done", { n: file!.cases.length - again, replaced: again });
      }
      if (way === "latest") {
        const out = await ask(api.POST("/v1/eval/datasets/{id}/import-traces", { ...at, body: { expected_revision: d.meta.revision, agent_id: agent || undefined, max_count: most, skip_uncuratable: true, provider_script_mode } }));
        return t("import.skipped", { n: out.imported_count, skipped: out.skipped_count });
      }
      const ids = (runs.data?.items ?? []).filter((r) => chosen.has(r.run_id)).map((r) => r.run_id).reverse();
      if (dialogue) {
        await ask(api.POST("/v1/eval/datasets/{id}/import-dialogue", { ...at, body: { expected_revision: d.meta.revision, run_ids: ids, provider_script_mode } }));
        return t("import.done", { n: 1, replaced: 0 });
      }
      for (const id of ids) await ask(api.POST("/v1/eval/datasets/{id}/items", { ...at, body: { from_run_id: id, provider_script_mode } }));
      return t("import.done", { n: ids.length, replaced: 0 });
    },
    onSuccess: (text) => {
      setTold(text);
      setChosen(new Set());
      setFile(undefined);
    },
    onSettled: () => {
      void client.invalidateQueries({ queryKey: datasetQuery(d.id).queryKey });
      void client.invalidateQueries({ queryKey: ["datasets", "list"] });
    },
  });
  const why = way === "runs" && chosen.size === 0 ? t("why.noneChosen") : way === "file" && !file ? t("import.noFile") : undefined;
  return (
    <Overlay open onOpenChange={(o) => !o && close()} title={t("import.title")} className="w-[min(760px,calc(100vw-24px))]! p-4">
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          if (!why) go.mutate();
        }}
      >
        <h2 className="text-title font-semibold">{t("import.title")}</h2>
        <fieldset className="flex flex-wrap gap-x-4 gap-y-1">
          <legend className="sr-only">{t("import.from")}</legend>
          {ways.map((w) => (
            <label key={w} className="touch inline-flex min-h-8 items-center gap-1.5">
              <input type="radio" name={group} checked={way === w} onChange={() => setWay(w)} />
              {t(`import.${w}` as Key)}
            </label>
          ))}
        </fieldset>
        {way !== "file" && (
          <div className="flex flex-wrap gap-3">
            <Labelled label={t("runs.agent")}>
              {(props) => (
                <select {...props} className="field" value={agent} onChange={(e) => setAgent(e.target.value)}>
                  <option value="">{t("import.allAgents")}</option>
                  {agents.data?.map((a) => <option key={a.id}>{a.id}</option>)}
                </select>
              )}
            </Labelled>
            {way === "latest" && <Labelled label={t("import.most")}>{(props) => <input {...props} type="number" min={1} max={1000} className="field" value={most} onChange={(e) => setMost(Number(e.target.value))} />}</Labelled>}
          </div>
        )}
        {way === "runs" && (
          <Loaded query={runs} rows={4}>
            {(page) =>
              page.items.length === 0 ? (
                <p className="text-muted">{t("import.noRuns")}</p>
              ) : (
                <ul aria-label={t("nav.runs")} tabIndex={0} className="panel max-h-64 divide-y divide-line overflow-auto">
                  {page.items.map((r) => (
                    <li key={r.run_id}>
                      <label className="row-link flex min-h-8 items-center gap-3 px-3">
                        <input
                          type="checkbox"
                          checked={chosen.has(r.run_id)}
                          onChange={(e) => {
                            const next = new Set(chosen);
                            if (e.target.checked) next.add(r.run_id);
                            else next.delete(r.run_id);
                            setChosen(next);
                          }}
                        />
                        <span className="mono">{short(r.run_id)}</span>
                        <Badge look={lookOfRun(stateOf(r))} iconOnly />
                        <span className="w-28 shrink-0 truncate">{r.agent_id}</span>
                        <span className="min-w-0 flex-1 truncate text-muted">{r.final_output ?? ""}</span>
                        <span className="text-muted">
                          <Ago at={toMs(r.created_at)} />
                        </span>
                      </label>
                    </li>
                  ))}
                </ul>
              )
            }
          </Loaded>
        )}
        {way === "runs" && chosen.size > 1 && (
          <label className="touch inline-flex min-h-8 items-center gap-2">
            <input type="checkbox" checked={dialogue} onChange={(e) => setDialogue(e.target.checked)} />
            {t("import.dialogue", { n: chosen.size })}
          </label>
        )}
        {way !== "file" && (
          <label className="touch inline-flex min-h-8 items-center gap-2">
            <input type="checkbox" checked={scripts} onChange={(e) => setScripts(e.target.checked)} />
            {t("import.scripts")}
          </label>
        )}
        {way === "file" && (
          <div className="flex flex-wrap items-center gap-3">
            <input
              ref={input}
              type="file"
              hidden
              accept=".json,.jsonl,.ndjson,application/json"
              onChange={async (e) => {
                const f = e.target.files?.[0];
                e.target.value = "";
                setBad("");
                setFile(undefined);
                if (!f) return;
                try {
                  setFile({ name: f.name, cases: casesOf(await f.text()) });
                } catch (err) {
                  setBad(t("import.bad", { name: f.name, error: (err as Error).message }));
                }
              }}
            />
            <Button onClick={() => input.current?.click()}>{t("import.choose")}</Button>
            <span className="min-w-0 flex-1 text-muted">{file ? t("import.found", { name: file.name, n: file.cases.length }) : t("import.fileHint")}</span>
          </div>
        )}
        {(bad || go.error) && (
          <p role="alert" className="text-fail [overflow-wrap:anywhere]">
            {bad || go.error?.message}
          </p>
        )}
        {told && (
          <p role="status" className="text-ok">
            {told}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={close}>{t("action.close")}</Button>
          <Button kind="primary" type="submit" why={why} disabled={go.isPending}>
            {way === "runs" && chosen.size > 0 ? t("import.goRuns", { n: dialogue ? 1 : chosen.size }) : t("import.go")}
          </Button>
        </div>
      </form>
    </Overlay>
  );
}
