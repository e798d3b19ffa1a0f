import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { FlaskConical, Plus } from "lucide-react";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { datasetsQuery } from "../../api/evals";
import { useLanguage } from "../../app/i18n/i18n";
import { Overlay } from "../../app/palette";
import { useMay, useSession } from "../../app/session";
import { Button } from "../../ui/button";
import { Filter } from "../../ui/filter";
import { Labelled } from "../../ui/labelled";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { usePhone } from "../../ui/phone";
import { Rows } from "../../ui/rows";
import { Empty, Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";

/** Datasets lists the datasets: cases that evaluations run. */
export function Datasets() {
  const { t } = useLanguage();
  const admin = useMay("admin");
  const has = useSession()?.features.evals === true;
  const [making, setMaking] = useState(false);
  return (
    <Page
      crumbs={[{ text: t("nav.datasets") }]}
      actions={
        admin &&
        has && (
          <Button kind="primary" onClick={() => setMaking(true)}>
            <Plus aria-hidden className="size-3.5" />
            {t("datasets.new")}
          </Button>
        )
      }
    >
      <Needs ability="admin">
        <Has feature="evals" setting="admin.expose_eval_routes">
          <List />
          {making && <Make close={() => setMaking(false)} />}
        </Has>
      </Needs>
    </Page>
  );
}

function List() {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const phone = usePhone();
  const { q = "" } = useSearch({ strict: false }) as { q?: string };
  const query = useQuery(datasetsQuery);
  const all = query.data ?? [];
  const shown = all.filter((d) => `${d.id} ${d.description}`.toLowerCase().includes(q.toLowerCase()));
  return (
    <>
      {(all.length > 8 || q) && (
        <div role="search" aria-label={t("runs.filters")} className="border-b border-line px-4 py-2">
          <Filter label={t("connect.search")} value={q} onChange={(v) => void navigate({ to: "/datasets", search: { q: v || undefined }, replace: true })} />
        </div>
      )}
      <Loaded query={query}>
        {() =>
          shown.length === 0 ? (
            <Empty title={all.length ? t("runs.noMatch") : t("datasets.empty")} icon={FlaskConical}>
              {all.length ? t("runs.noMatchHint") : t("datasets.emptyHint")}
            </Empty>
          ) : (
            <Rows
              items={shown}
              keyOf={(d) => d.id}
              height={phone ? 64 : 44}
              label={t("nav.datasets")}
              open={(d) => void navigate({ to: "/datasets/$id", params: { id: d.id } })}
              row={(d) => (
                <div className={phone ? "flex h-full flex-col justify-center px-4" : "grid h-full grid-cols-[minmax(8rem,16rem)_minmax(0,1fr)_6rem_6rem_4rem] items-center gap-3 px-4"}>
                  <Link to="/datasets/$id" params={{ id: d.id }} className="truncate font-medium hover:underline">
                    {d.id}
                  </Link>
                  <span className="truncate text-muted">{d.description || (phone ? t("datasets.cases", { n: d.fixture_count }) : "")}</span>
                  {!phone && (
                    <>
                      <span>{t("datasets.cases", { n: d.fixture_count })}</span>
                      <span className="text-muted">{t("datasets.revision", { n: d.revision })}</span>
                      <span className="text-right text-muted">
                        <Ago at={d.updated_at} />
                      </span>
                    </>
                  )}
                </div>
              )}
            />
          )
        }
      </Loaded>
    </>
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
