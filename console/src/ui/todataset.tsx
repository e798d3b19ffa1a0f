import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { FlaskConical } from "lucide-react";
import { useState } from "react";
import { api, ask } from "../api/client";
import { datasetsQuery } from "../api/evals";
import { useMay, useSession } from "../api/session";
import { useLanguage } from "../i18n/i18n";
import { Button } from "./button";
import { Labelled, LinesField } from "./labelled";
import { Overlay } from "./overlay";

/** ToDataset makes a case of a run: what the user said, what the models answered and what the tools returned, with what is expected. */
export function ToDataset({ run, why }: { run: string; why?: string }) {
  const { t } = useLanguage();
  const admin = useMay("admin");
  const has = useSession()?.features.evals === true;
  const [open, setOpen] = useState(false);
  if (!has) return null;
  return (
    <>
      <Button why={admin ? why : t("may.datasets")} onClick={() => setOpen(true)}>
        <FlaskConical aria-hidden className="size-3.5" />
        {t("todataset.button")}
      </Button>
      {open && <Dialog run={run} close={() => setOpen(false)} />}
    </>
  );
}

const NEW = "\n"; // no dataset has this id

function Dialog({ run, close }: { run: string; close: () => void }) {
  const { t } = useLanguage();
  const client = useQueryClient();
  const list = useQuery(datasetsQuery);
  const [chosen, setChosen] = useState<string>();
  const [name, setName] = useState("");
  const [id, setID] = useState(`run-${run}`);
  const [contains, setContains] = useState<string[]>();
  const [excludes, setExcludes] = useState<string[]>();
  const [script, setScript] = useState(true);
  const into = chosen ?? list.data?.[0]?.id ?? NEW;
  const dataset = into === NEW ? name.trim() : into;
  const add = useMutation({
    mutationFn: async () => {
      if (into === NEW) await ask(api.POST("/v1/eval/datasets", { body: { id: dataset, spec: { fixtures: [] } } }));
      const expect = { ...(contains && { final_answer_contains: contains }), ...(excludes && { final_answer_excludes: excludes }) };
      try {
        return await ask(api.POST("/v1/eval/datasets/{id}/items", { params: { path: { id: dataset } }, body: { from_run_id: run, fixture_id: id.trim(), provider_script_mode: script ? "optional" : "skip", ...(Object.keys(expect).length > 0 && { expect }) } }));
      } catch (err) {
        if (into === NEW) setChosen(dataset); // it is there now
        throw err;
      }
    },
    onSettled: () => void client.invalidateQueries({ queryKey: ["datasets"] }),
  });
  return (
    <Overlay open onOpenChange={(o) => !o && close()} title={t("todataset.title")} className="p-4">
      <h2 className="mb-3 text-title font-semibold">{t("todataset.title")}</h2>
      {add.data ? (
        <div className="flex flex-col gap-3">
          <p role="status">{t("todataset.done", { id: id.trim(), dataset })}</p>
          <div className="flex justify-end gap-2">
            <Button onClick={close}>{t("action.close")}</Button>
            <Link to="/datasets/$id/cases/$case" params={{ id: dataset, case: id.trim() }} className="touch inline-flex min-h-8 items-center rounded-md border border-accent bg-accent px-3 font-medium text-on-accent">
              {t("todataset.open")}
            </Link>
          </div>
        </div>
      ) : (
        <form
          className="flex flex-col gap-3"
          onSubmit={(e) => {
            e.preventDefault();
            if (dataset && id.trim()) add.mutate();
          }}
        >
          <Labelled label={t("todataset.dataset")}>
            {(props) => (
              <select {...props} className="field" value={into} onChange={(e) => setChosen(e.target.value)}>
                {into !== NEW && !list.data?.some((d) => d.id === into) && <option>{into}</option>}
                {list.data?.map((d) => <option key={d.id}>{d.id}</option>)}
                <option value={NEW}>{t("todataset.new")}</option>
              </select>
            )}
          </Labelled>
          {into === NEW && <Labelled label={t("datasets.id")}>{(props) => <input {...props} className="field" value={name} onChange={(e) => setName(e.target.value)} />}</Labelled>}
          <Labelled label={t("case.id")}>{(props) => <input {...props} className="field" value={id} onChange={(e) => setID(e.target.value)} />}</Labelled>
          <LinesField label={t("case.contains")} hint={t("case.perLine")} value={contains} onChange={setContains} />
          <LinesField label={t("case.excludes")} hint={t("case.perLine")} value={excludes} onChange={setExcludes} />
          <label className="touch inline-flex min-h-8 items-center gap-2">
            <input type="checkbox" checked={script} onChange={(e) => setScript(e.target.checked)} />
            {t("import.scripts")}
          </label>
          {add.error && (
            <p role="alert" className="text-fail [overflow-wrap:anywhere]">
              {add.error.message}
            </p>
          )}
          <div className="flex justify-end gap-2">
            <Button onClick={close}>{t("action.cancel")}</Button>
            <Button kind="primary" type="submit" why={!dataset || !id.trim() ? t("todataset.noName") : undefined} disabled={add.isPending}>
              {t("todataset.add")}
            </Button>
          </div>
        </form>
      )}
    </Overlay>
  );
}
