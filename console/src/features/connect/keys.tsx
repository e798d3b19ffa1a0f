import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { api, ask } from "../../api/client";
import { call } from "../../api/config";
import type { components } from "../../api/schema";
import { useMay, useSession } from "../../api/session";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { CopyButton } from "../../ui/id";
import { Overlay } from "../../ui/overlay";
import { Page } from "../../ui/page";
import { Empty, Loaded } from "../../ui/state";
import { Ago } from "../../ui/time";

type ApiKey = components["schemas"]["Key"];
const kinds = ["read", "run", "admin"] as const;

/** Keys lists the keys, makes new ones, whose secret is shown once, and revokes them. */
export function Keys() {
  const { t } = useLanguage();
  const admin = useMay("admin");
  const session = useSession();
  const client = useQueryClient();
  const query = useQuery({ queryKey: ["keys"], queryFn: ({ signal }) => ask(api.GET("/v1/keys", { signal })), enabled: admin });
  const [making, setMaking] = useState(false);
  const [gone, setGone] = useState<ApiKey>();
  const revoke = useMutation({
    mutationFn: (id: string) => call("DELETE", `/v1/keys/${encodeURIComponent(id)}`),
    onSuccess: () => {
      setGone(undefined);
      void client.invalidateQueries({ queryKey: ["keys"] });
    },
  });
  if (!admin) {
    return (
      <Page crumbs={[{ text: t("nav.keys") }]}>
        <Empty title={t("state.noPermission")} icon={KeyRound}>
          {t("may.admin")}
        </Empty>
      </Page>
    );
  }
  return (
    <Page
      crumbs={[{ text: t("nav.keys") }]}
      badge={query.data && <span className="mono text-muted">{query.data.items.length}</span>}
      actions={
        <Button kind="primary" onClick={() => setMaking(true)}>
          <Plus aria-hidden className="size-3.5" />
          {t("keyPage.new")}
        </Button>
      }
    >
      <div className="min-h-0 flex-1 overflow-auto">
        <Loaded query={query}>
          {(list) =>
            list.items.length === 0 ? (
              <Empty title={t("keyPage.empty")} icon={KeyRound}>
                {t("keyPage.emptyHint")}
              </Empty>
            ) : (
              <ul aria-label={t("nav.keys")} className="divide-y divide-line">
                {list.items.map((k) => (
                  <li key={k.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
                    <span className="w-16 font-medium">{t(`kind.${k.kind}`)}</span>
                    <span className="min-w-0 flex-1 basis-60">
                      <span className="block truncate">{k.label || <span className="text-muted">{t("keyPage.noLabel")}</span>}</span>
                      <span className="mono block truncate text-muted">{k.id}</span>
                    </span>
                    {k.tenant && <span className="text-muted">{t("shell.tenant", { tenant: k.tenant })}</span>}
                    {k.user && <span className="text-muted">{t("approvals.forUser", { user: k.user })}</span>}
                    {session?.key?.id === k.id && <span className="rounded-sm border border-run px-1 text-caption text-run">{t("keyPage.yours")}</span>}
                    <span className="text-muted">
                      <Ago at={k.created_at} />
                    </span>
                    <Button kind="quiet" why={k.fixed ? t("keyPage.fixed") : undefined} aria-label={t("keyPage.revokeOne", { name: k.label || k.id })} onClick={() => setGone(k)}>
                      {t("keyPage.revoke")}
                    </Button>
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      </div>
      {making && <Make close={() => setMaking(false)} />}
      <Overlay open={gone !== undefined} onOpenChange={(o) => !o && setGone(undefined)} title={t("keyPage.revoke")} className="p-4">
        <h2 className="mb-1 text-title font-semibold">{t("keyPage.revokeOne", { name: gone?.label || gone?.id || "" })}</h2>
        <p className="mb-4 text-muted">{t(session?.key?.id === gone?.id ? "keyPage.revokeOwn" : "keyPage.revokeHint")}</p>
        {revoke.error && (
          <p role="alert" className="mb-2 text-fail">
            {revoke.error.message}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={() => setGone(undefined)}>{t("action.cancel")}</Button>
          <Button kind="danger" disabled={revoke.isPending} onClick={() => gone && revoke.mutate(gone.id)}>
            {t("keyPage.revoke")}
          </Button>
        </div>
      </Overlay>
    </Page>
  );
}

function Make({ close }: { close: () => void }) {
  const { t } = useLanguage();
  const session = useSession();
  const client = useQueryClient();
  const [kind, setKind] = useState<(typeof kinds)[number]>("run");
  const [label, setLabel] = useState("");
  const [tenant, setTenant] = useState("");
  const [user, setUser] = useState("");
  const [secret, setSecret] = useState(""); // shown once; only this dialog has it
  const make = useMutation({
    mutationFn: async () => ((await call("POST", "/v1/keys", { kind, ...(label && { label }), ...(tenant && { tenant }), ...(user && { user }) })).data as components["schemas"]["KeyMade"]).secret,
    onSuccess: (made) => {
      setSecret(made);
      void client.invalidateQueries({ queryKey: ["keys"] });
    },
    gcTime: 0,
  });
  return (
    <Overlay open onOpenChange={(o) => !o && close()} title={t("keyPage.new")} className="p-4">
      <h2 className="mb-3 text-title font-semibold">{t("keyPage.new")}</h2>
      {secret ? (
        <div className="flex flex-col gap-3">
          <p>{t("keyPage.once")}</p>
          <div className="flex items-center gap-2 rounded-md bg-sunken p-2">
            <code className="mono min-w-0 flex-1 [overflow-wrap:anywhere]">{secret}</code>
            <CopyButton text={secret} />
          </div>
          <Button kind="primary" className="self-end" onClick={close}>
            {t("keyPage.kept")}
          </Button>
        </div>
      ) : (
        <form
          className="flex flex-col gap-3"
          onSubmit={(e) => {
            e.preventDefault();
            make.mutate();
          }}
        >
          <fieldset className="flex flex-col gap-2">
            <legend className="mb-1 font-medium">{t("keyPage.kind")}</legend>
            {kinds.map((k) => (
              <label key={k} className="flex items-start gap-2">
                <input type="radio" name="kind" className="mt-1" checked={kind === k} onChange={() => setKind(k)} />
                <span>
                  <span className="font-medium">{t(`kind.${k}`)}</span> <span className="text-muted">{t(`keyPage.may.${k}` as Key)}</span>
                </span>
              </label>
            ))}
          </fieldset>
          <label className="flex flex-col gap-1 font-medium">
            {t("keyPage.label")}
            <input className="field font-normal" value={label} onChange={(e) => setLabel(e.target.value)} placeholder={t("keyPage.labelHint")} />
          </label>
          <div className="grid gap-3 sm:grid-cols-2">
            {session?.key?.tenant === "" && (
              <label className="flex flex-col gap-1 font-medium">
                {t("keyPage.tenant")}
                <input className="field font-normal" value={tenant} onChange={(e) => setTenant(e.target.value)} />
              </label>
            )}
            <label className="flex flex-col gap-1 font-medium">
              {t("keyPage.user")}
              <input className="field font-normal" value={user} onChange={(e) => setUser(e.target.value)} />
            </label>
          </div>
          {make.error && (
            <p role="alert" className="text-fail [overflow-wrap:anywhere]">
              {make.error.message}
            </p>
          )}
          <div className="flex justify-end gap-2">
            <Button onClick={close}>{t("action.cancel")}</Button>
            <Button kind="primary" type="submit" disabled={make.isPending}>
              {t("keyPage.make")}
            </Button>
          </div>
        </form>
      )}
    </Overlay>
  );
}
