import { useMutation, useQuery, useQueryClient, type UseQueryOptions } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { ApiError } from "../../api/errors";
import { useLanguage, type Key } from "../../i18n/i18n";
import type { Draft } from "../../ui/draft";
import { Labelled } from "../../ui/labelled";
import { Has, Needs } from "../../ui/needs";
import { Page } from "../../ui/page";
import { tell } from "../../ui/savebar";
import { Failure, Skeleton } from "../../ui/state";
import { EditBar, plainLink, Tick } from "./parts";
import { Changed, fieldOf } from "./spec";

/** What starts runs, or is told of them. Texts, routes and queries have these names. */
type Kind = "schedules" | "webhooks" | "triggers";

/** FormPage is the page of a form that makes a document, or changes the one that the address names. */
export function FormPage<D>({ kind, setting, query, form }: { kind: Kind; setting: string; query: (id: string) => UseQueryOptions<D, Error, D, string[]>; form: (id?: string, doc?: D) => ReactNode }) {
  const { t } = useLanguage();
  const { id } = useParams({ strict: false }) as { id?: string };
  const list = { text: t(`nav.${kind}`), to: `/${kind}` };
  return (
    <Needs ability="admin">
      <Has feature={kind} setting={setting}>
        {id === undefined ? (
          <Page crumbs={[list, { text: t(`${kind}.new`) }]}>{form()}</Page>
        ) : (
          <Page key={id} crumbs={[list, { text: id, to: `/${kind}/${encodeURIComponent(id)}` }, { text: t("automate.edit") }]}>
            <Existing query={query(id)} form={(doc) => form(id, doc)} />
          </Page>
        )}
      </Has>
    </Needs>
  );
}

function Existing<D>({ query: options, form }: { query: UseQueryOptions<D, Error, D, string[]>; form: (doc: D) => ReactNode }) {
  const query = useQuery(options);
  if (query.data) return form(query.data);
  return query.isError ? <Failure error={query.error} retry={() => void query.refetch()} /> : <Skeleton />;
}

interface Saving<D, T> {
  kind: Kind;
  /** Undefined makes a new one. */
  id?: string;
  draft: Draft<T>;
  specOf: (doc: D) => T;
  /** Writes the draft. The id is "" if the user gave none. */
  write: (id: string, paused: boolean) => Promise<D>;
  /** Whether the page stays, because it shows what is shown once. */
  stays?: boolean;
}

/** useSaving saves the draft of a form, and says at which field an error is. */
export function useSaving<D extends { id: string }, T extends object>({ kind, id, draft, specOf, write, stays }: Saving<D, T>) {
  const { t } = useLanguage();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [paused, setPaused] = useState(false);
  const leave = async (to: string) => {
    tell(`${kind}/${to}`, t(`${kind}.saved`, { id: to }));
    await navigate({ to: `/${kind}/$id`, params: { id: to }, replace: true, ignoreBlocker: true });
  };
  const mutation = useMutation({
    mutationFn: () => write(name.trim(), paused),
    onSuccess: async (doc) => {
      draft.done(specOf(doc));
      client.setQueryData([kind, "one", doc.id], doc);
      void client.invalidateQueries({ queryKey: [kind, "list"] });
      if (!stays || id !== undefined) await leave(doc.id);
    },
    onError: (err) => {
      if (err instanceof Changed && id !== undefined) void client.invalidateQueries({ queryKey: [kind, "one", id] });
    },
  });
  const error = mutation.error instanceof Changed ? null : mutation.error;
  const taken = error instanceof ApiError && error.code === "conflict" && id === undefined;
  const field = taken ? "id" : fieldOf(error);
  return { kind, id, mutation, error, field, wrong: (x: string) => (field === x && error ? error.message : undefined), name, setName, paused, setPaused, leave };
}

type Saver = ReturnType<typeof useSaving<{ id: string }, object>>;

/** Form has the fields of a document, and at its end what saves them. */
export function Form<T extends object>({ saving, draft, why, fields, keeps, busy, children }: { saving: Saver; draft: Draft<T>; why?: string; fields: string[]; keeps: boolean; busy?: boolean; children: ReactNode }) {
  const { t } = useLanguage();
  const { kind, id, mutation, error, field } = saving;
  const unable = why ?? (id !== undefined && !draft.dirty ? t("why.unchanged") : undefined);
  const here = id === undefined ? `/${kind}/-/new` : `/${kind}/${id}/edit`;
  return (
    <form
      aria-label={id ?? t(`${kind}.new`)}
      className="flex max-w-3xl flex-col gap-4 px-4 pt-4"
      onSubmit={(e) => {
        e.preventDefault();
        if (!unable && draft.others.length === 0) mutation.mutate();
      }}
    >
      {children}
      <EditBar
        draft={draft}
        save={t(id === undefined ? `${kind}.make` : "case.save")}
        why={unable}
        pending={mutation.isPending || busy === true}
        error={error}
        placed={["id", "description", ...fields].includes(field)}
        keeps={keeps}
        made={mutation.isSuccess}
        stays={(path) => decodeURIComponent(path).endsWith(here)}
        cancel={
          <Link to={id === undefined ? `/${kind}` : `/${kind}/$id`} params={{ id: id ?? "" }} className={plainLink}>
            {t("action.cancel")}
          </Link>
        }
      />
    </form>
  );
}

/** IdField edits the id of a new document. */
export function IdField({ saving }: { saving: Saver }) {
  const { t } = useLanguage();
  if (saving.id !== undefined) return null;
  return (
    <Labelled label={t("automate.id")} hint={t("automate.idHint")} bad={saving.wrong("id")}>
      {(props) => <input {...props} className="field mono w-full" autoComplete="off" value={saving.name} onChange={(e) => saving.setName(e.target.value)} />}
    </Labelled>
  );
}

/** DescriptionField edits what a document is for. */
export function DescriptionField({ saving, value, set }: { saving: Saver; value?: string; set: (change: { description?: string }) => void }) {
  const { t } = useLanguage();
  return (
    <Labelled label={t("automate.description")} bad={saving.wrong("description")}>
      {(props) => <input {...props} className="field w-full" value={value ?? ""} onChange={(e) => set({ description: e.target.value || undefined })} />}
    </Labelled>
  );
}

/** PausedTick says that a new document begins paused. */
export function PausedTick({ saving }: { saving: Saver }) {
  const { t } = useLanguage();
  if (saving.id !== undefined) return null;
  return <Tick label={t("automate.beginPaused")} hint={t(`${saving.kind}.pausedHint` as Key)} checked={saving.paused} onChange={saving.setPaused} />;
}
