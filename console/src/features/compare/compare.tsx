import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Columns3, Plus, X } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { api, ask } from "../../api/client";
import { call, capabilitiesQuery, documentsQuery, type Doc } from "../../api/config";
import { useMay } from "../../api/session";
import { useLanguage } from "../../i18n/i18n";
import { useChat, type ChatFile } from "../../live/chat";
import { Button } from "../../ui/button";
import { Composer, Turns } from "../../ui/chat";
import { Page } from "../../ui/page";
import { useWhy } from "../../ui/savebar";
import { Empty, Loaded } from "../../ui/state";
import { MAX, sidesOf, textOf, type Side } from "./sides";

/** documentOf reads an agent as a side has it. */
async function documentOf({ agent, version, model }: Side): Promise<Doc> {
  const at = encodeURIComponent(agent);
  const path = version === "live" ? `/v1/config/agents/${at}?state=live` : version === "draft" ? `/v1/config/agents/${at}` : `/v1/registry/versions/${version}/agents/${at}`;
  const doc = (await call("GET", path)).data as Doc;
  return model ? { ...doc, model_id: model } : doc;
}

const versionsQuery = queryOptions({ queryKey: ["versions", "compare"], queryFn: ({ signal }) => ask(api.GET("/v1/registry/versions", { params: { query: { limit: 200 } }, signal })) });

interface Shot {
  n: number;
  text: string;
  files: ChatFile[];
}

/** Compare gives one input to up to four agents, versions or models, and shows what each makes of it. */
export function Compare() {
  const { t } = useLanguage();
  const config = useMay("config");
  const why = useWhy();
  const search = useSearch({ strict: false }) as { sides?: string };
  const navigate = useNavigate();
  const list = useQuery({ ...documentsQuery("agents"), enabled: config });
  const [shot, setShot] = useState<Shot>();
  const [busy, setBusy] = useState<Record<number, boolean>>({});
  const [round, setRound] = useState(0);
  const stop = useRef(new Map<number, () => void>());
  if (!config) {
    return (
      <Page crumbs={[{ text: t("nav.compare") }]}>
        <Empty title={t("state.noPermission")}>{why}</Empty>
      </Page>
    );
  }
  const agents = (list.data ?? []).map((d) => ({ id: String(d.doc.id), draft: d.meta?.draft === true, live: d.meta?.live === true }));
  const first = agents.find((a) => a.id === "default") ?? agents[0];
  const given = sidesOf(search.sides ?? "");
  const sides = given.length ? given : first ? [{ agent: first.id, version: "live", model: "" }, { agent: first.id, version: first.draft ? "draft" : "live", model: "" }] : [];
  const set = (next: Side[]) => void navigate({ to: "/compare", search: { sides: textOf(next) }, replace: true });
  const working = Object.values(busy).some(Boolean);
  return (
    <Page
      crumbs={[{ text: t("nav.compare") }]}
      actions={
        <Button disabled={sides.length === 0 || sides.length >= MAX || working} title={sides.length >= MAX ? t("compare.most", { n: MAX }) : undefined} onClick={() => set([...sides, { ...sides.at(-1)! }])}>
          <Plus aria-hidden className="size-3.5" />
          {t("compare.add")}
        </Button>
      }
    >
      <Loaded query={list}>
        {() =>
          sides.length === 0 ? (
            <Empty title={t("agents.empty")} icon={Columns3}>
              {t("agents.emptyHint")}
            </Empty>
          ) : (
            <>
              <div className={`grid min-h-0 flex-1 auto-rows-[minmax(26rem,1fr)] gap-px overflow-auto bg-line md:grid-cols-2 ${{ 3: "xl:grid-cols-3", 4: "xl:grid-cols-4" }[sides.length] ?? ""} ${sides.length === 1 ? "md:grid-cols-1" : ""}`}>
                {sides.map((side, i) => (
                  <Column
                    key={`${round} ${i} ${side.agent}@${side.version}~${side.model}`}
                    n={i + 1}
                    side={side}
                    agents={agents}
                    shot={shot}
                    locked={working}
                    set={(next) => set(sides.map((s, j) => (j === i ? next : s)))}
                    remove={sides.length > 1 ? () => set(sides.filter((_, j) => j !== i)) : undefined}
                    busy={(on) => setBusy((now) => (now[i] === on ? now : { ...now, [i]: on }))}
                    stopper={(f) => stop.current.set(i, f)}
                  />
                ))}
              </div>
              <Composer label={t("compare.message")} busy={working} stop={() => stop.current.forEach((f) => f())} send={(text, files) => setShot({ n: (shot?.n ?? 0) + 1, text, files })}>
                {shot && !working && (
                  <Button
                    kind="quiet"
                    onClick={() => {
                      setShot(undefined);
                      setRound(round + 1);
                    }}
                  >
                    {t("sandbox.again")}
                  </Button>
                )}
              </Composer>
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

interface ColumnProps {
  n: number;
  side: Side;
  agents: { id: string; draft: boolean; live: boolean }[];
  shot?: Shot;
  locked: boolean;
  set: (side: Side) => void;
  remove?: () => void;
  busy: (on: boolean) => void;
  stopper: (stop: () => void) => void;
}

function Column({ n, side, agents, shot, locked, set, remove, busy, stopper }: ColumnProps) {
  const { t, span, money } = useLanguage();
  const id = useId();
  const chat = useChat("/v1/ai-sdk/agent-previews/runs", "compare");
  const versions = useQuery(versionsQuery);
  const capabilities = useQuery(capabilitiesQuery);
  const [failed, setFailed] = useState("");
  const doc = useRef<Doc>(undefined);
  const done = useRef(shot?.n ?? 0); // what was said before the column was there is not repeated
  stopper(chat.stop);
  useEffect(() => {
    if (!shot || shot.n <= done.current) return;
    done.current = shot.n;
    setFailed("");
    busy(true);
    (async () => {
      try {
        doc.current = await documentOf(side);
        await chat.send(shot.text, { agent: doc.current }, shot.files);
      } catch (err) {
        setFailed((err as Error).message);
      }
      busy(false);
    })();
  }, [shot]); // eslint-disable-line
  const own = agents.find((a) => a.id === side.agent);
  const of = (versions.data?.items ?? []).filter((v) => v.kind !== "preview" && v.entries.some((e) => e.namespace === "agents" && e.id === side.agent)).map((v) => ({ number: v.number, note: v.note }));
  const caps = capabilities.data as unknown as { models: { id: string }[]; model_pools: { id: string }[] } | undefined;
  const models = [...(caps?.models ?? []), ...(caps?.model_pools ?? [])].map((m) => m.id);
  const answers = chat.turns.filter((x) => x.role === "assistant");
  const sum = (of: (x: (typeof answers)[number]) => number | undefined) => answers.reduce((all, x) => all + (of(x) ?? 0), 0);
  const last = answers.at(-1);
  const title = t("compare.column", { n });
  return (
    <section aria-label={title} className="flex min-h-0 min-w-0 flex-col bg-panel">
      <header className="flex flex-col gap-2 border-b border-line px-4 py-3">
        <div className="flex min-h-8 items-center gap-2">
          <h2 className="font-semibold">{title}</h2>
          {remove && (
            <button type="button" disabled={locked} aria-label={t("compare.remove", { n })} title={t("compare.remove", { n })} onClick={remove} className="touch -mr-2 ml-auto inline-flex size-8 items-center justify-center rounded-md text-muted hover:bg-sunken hover:text-text disabled:opacity-60">
              <X aria-hidden className="size-4" />
            </button>
          )}
        </div>
        <div className="grid grid-cols-[auto_minmax(0,1fr)] items-center gap-x-3 gap-y-1.5">
          <label htmlFor={`${id}-agent`} className="text-muted">
            {t("compare.agent")}
          </label>
          <select id={`${id}-agent`} className="field min-w-0" disabled={locked} value={side.agent} onChange={(e) => set({ ...side, agent: e.target.value, version: agents.find((a) => a.id === e.target.value)?.live ? "live" : "draft" })}>
            {!own && <option>{side.agent}</option>}
            {agents.map((a) => (
              <option key={a.id}>{a.id}</option>
            ))}
          </select>
          <label htmlFor={`${id}-version`} className="text-muted">
            {t("compare.version")}
          </label>
          <select id={`${id}-version`} className="field min-w-0" disabled={locked} value={side.version} onChange={(e) => set({ ...side, version: e.target.value })}>
            {(own?.live || side.version === "live") && <option value="live">{t("compare.live")}</option>}
            {(own?.draft || side.version === "draft") && <option value="draft">{t("compare.draft")}</option>}
            {of.map((v) => (
              <option key={v.number} value={v.number}>
                {`v${v.number}${v.note ? ` · ${v.note}` : ""}`}
              </option>
            ))}
            {!["live", "draft", ...of.map((v) => String(v.number))].includes(side.version) && <option value={side.version}>{`v${side.version}`}</option>}
          </select>
          <label htmlFor={`${id}-model`} className="text-muted">
            {t("field.model_id")}
          </label>
          <select id={`${id}-model`} className="field min-w-0" disabled={locked} value={side.model} onChange={(e) => set({ ...side, model: e.target.value })}>
            <option value="">{t("compare.ownModel")}</option>
            {side.model && !models.includes(side.model) && <option>{side.model}</option>}
            {models.map((m) => (
              <option key={m}>{m}</option>
            ))}
          </select>
        </div>
      </header>
      <Turns turns={chat.turns} label={t("compare.answers", { n })} busy={chat.busy} hint={n === 1 && <p>{t("compare.hint")}</p>} decide={(tool, approved) => void chat.decide(tool, approved, { agent: doc.current })} />
      {failed && (
        <p role="alert" className="px-4 py-2 text-fail [overflow-wrap:anywhere]">
          {failed}
        </p>
      )}
      {last && last.ms !== undefined && (
        <dl aria-label={t("compare.figures", { n })} className="grid grid-cols-4 gap-2 border-t border-line px-4 py-2 text-dense">
          <div>
            <dt className="text-muted">{t("compare.time")}</dt>
            <dd className="tabular-nums">{span(sum((x) => x.ms))}</dd>
          </div>
          <div>
            <dt className="text-muted">{t("compare.cost")}</dt>
            <dd className="tabular-nums">{money(sum((x) => x.cost))}</dd>
          </div>
          <div>
            <dt className="text-muted">{t("compare.calls")}</dt>
            <dd className="tabular-nums">{sum((x) => x.tools.length)}</dd>
          </div>
          {last.run && (
            <div>
              <dt className="text-muted">{t("compare.run")}</dt>
              <dd>
                <Link to="/runs/$id" params={{ id: last.run }} className="link">
                  {t("compare.open")}
                </Link>
              </dd>
            </div>
          )}
        </dl>
      )}
    </section>
  );
}
