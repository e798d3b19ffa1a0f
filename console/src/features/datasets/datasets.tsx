import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { FlaskConical, Plus } from "lucide-react";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { datasetsQuery, type DatasetSummary } from "../../api/evals";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Labelled } from "../../ui/labelled";
import { ShortList, type Column } from "../../ui/list";
import { AdminPage } from "../../ui/needs";
import { Overlay } from "../../ui/overlay";
import { Ago } from "../../ui/time";

/** Datasets lists the datasets: cases that evaluations run. */
export function Datasets() {
  const { t } = useLanguage();
  const [making, setMaking] = useState(false);
  return (
    <AdminPage
      crumbs={[{ text: t("nav.datasets") }]}
      feature="evals"
      setting="admin.expose_eval_routes"
      actions={
        <Button kind="primary" onClick={() => setMaking(true)}>
          <Plus aria-hidden className="size-3.5" />
          {t("datasets.new")}
        </Button>
      }
    >
      <Found />
      {making && <Make close={() => setMaking(false)} />}
    </AdminPage>
  );
}

function Found() {
  const { t } = useLanguage();
  const name = (d: DatasetSummary) => (
    <Link to="/datasets/$id" params={{ id: d.id }} className="truncate font-medium hover:underline">
      {d.id}
    </Link>
  );
  const cases = (d: DatasetSummary) => t("datasets.cases", { n: d.fixture_count });
  const columns: Column<DatasetSummary>[] = [
    { word: "evals.dataset", width: "minmax(8rem,16rem)", look: "flex", cell: name },
    { word: "datasets.description", width: "minmax(0,1fr)", look: "truncate text-muted", cell: (d) => d.description },
    { word: "datasets.casesTitle", width: "6rem", cell: cases },
    { width: "6rem", look: "text-muted", cell: (d) => t("datasets.revision", { n: d.revision }) },
    { word: "runs.age", width: "4rem", right: true, look: "text-muted", cell: (d) => <Ago at={d.updated_at} /> },
  ];
  return (
    <ShortList
      to="/datasets"
      query={useQuery(datasetsQuery)}
      textOf={(d) => `${d.id} ${d.description}`}
      label={t("nav.datasets")}
      columns={columns}
      heights={[44, 64]}
      empty={{ title: "datasets.empty", icon: FlaskConical, hint: t("datasets.emptyHint") }}
      card={(d) => (
        <div className="flex h-full flex-col justify-center px-4">
          {name(d)}
          <span className="truncate text-muted">{d.description || cases(d)}</span>
        </div>
      )}
    />
  );
}

function Make({ close }: { close: () => void }) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [id, setID] = useState("");
  const [description, setDescription] = useState("");
  const make = useMutation({
    mutationFn: () => ask(api.POST("/v1/eval/datasets", { body: { id: id.trim(), spec: { description: description.trim() || undefined, fixtures: [] } } })),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ["datasets"] });
      void navigate({ to: "/datasets/$id", params: { id: made.id } });
    },
  });
  return (
    <Overlay open onOpenChange={(o) => !o && close()} title={t("datasets.new")} className="p-4">
      <form
        className="flex flex-col gap-3"
        onSubmit={(e) => {
          e.preventDefault();
          if (id.trim()) make.mutate();
        }}
      >
        <h2 className="text-title font-semibold">{t("datasets.new")}</h2>
        <Labelled label={t("datasets.id")} bad={make.error?.message}>
          {(props) => <input {...props} className="field" autoComplete="off" value={id} onChange={(e) => setID(e.target.value)} />}
        </Labelled>
        <Labelled label={t("datasets.description")}>{(props) => <input {...props} className="field" value={description} onChange={(e) => setDescription(e.target.value)} />}</Labelled>
        <div className="flex justify-end gap-2">
          <Button onClick={close}>{t("action.cancel")}</Button>
          <Button kind="primary" type="submit" why={id.trim() ? undefined : t("why.noText")} disabled={make.isPending}>
            {t("datasets.make")}
          </Button>
        </div>
      </form>
    </Overlay>
  );
}
