import { Link } from "@tanstack/react-router";
import { Plus, X } from "lucide-react";
import { useId, useState, type ReactNode } from "react";
import type { Doc, Problem } from "../../api/config";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { DocForm, Problems, type Schema } from "../../ui/docform";

interface Common {
  disabled: boolean;
  problems: Problem[];
}

/** below returns the problems of a part of a document. */
const below = (problems: Problem[], path: string) => problems.filter((p) => p.path === path || p.path.startsWith(`${path}/`));

/** Labelled is a field with its name above it. */
function Labelled({ text, className = "", children }: { text: string; className?: string; children: (id: string) => ReactNode }) {
  const id = useId();
  return (
    <div className={`flex min-w-0 flex-col gap-1 ${className}`}>
      <label htmlFor={id} className="text-dense text-muted">
        {text}
      </label>
      {children(id)}
    </div>
  );
}

function RemoveRow({ label, disabled, onClick }: { label: string; disabled: boolean; onClick: () => void }) {
  return (
    <button type="button" aria-label={label} title={label} disabled={disabled} onClick={onClick} className="touch inline-flex size-8 shrink-0 items-center justify-center rounded-md text-muted hover:bg-sunken hover:text-text disabled:opacity-60">
      <X aria-hidden className="size-4" />
    </button>
  );
}

function AddRow({ text, disabled, onClick }: { text: string; disabled: boolean; onClick: () => void }) {
  return (
    <Button className="self-start" disabled={disabled} onClick={onClick}>
      <Plus aria-hidden className="size-3.5" />
      {text}
    </Button>
  );
}

/** What each kind of stop condition is measured by. */
const measures: Record<string, { field: string; text?: boolean; fresh: unknown }> = {
  max_rounds: { field: "rounds", fresh: 10 },
  timeout: { field: "seconds", fresh: 300 },
  token_budget: { field: "max_total", fresh: 100000 },
  cost_budget: { field: "max_usd", fresh: 1 },
  consecutive_errors: { field: "max", fresh: 3 },
  stop_on_tool: { field: "tool_name", text: true, fresh: "" },
  content_match: { field: "pattern", text: true, fresh: "" },
  loop_detection: { field: "window", fresh: 5 },
};

/** StopConditions edits what ends a run, beside its natural end. */
export function StopConditions({ value, onChange, problems, disabled, tools }: { value: Doc[] | null | undefined; onChange: (value: Doc[] | undefined) => void; tools: string[] } & Common) {
  const { t } = useLanguage();
  const list = value ?? [];
  const put = (i: number, next: Doc) => onChange(list.map((c, j) => (j === i ? next : c)));
  return (
    <section aria-label={t("field.stop_conditions")} className="flex flex-col gap-2">
      <h2 className="text-title font-semibold">{t("field.stop_conditions")}</h2>
      <p className="text-dense text-muted">{t("stop.hint")}</p>
      {list.map((c, i) => {
        const m = measures[String(c.type)];
        const own = below(problems, `/stop_conditions/${i}`);
        return (
          <div key={i} role="group" aria-label={t("stop.condition", { n: i + 1 })} className="flex flex-col gap-1">
            <div className="flex items-end gap-2">
              <Labelled text={t("stop.type")} className="flex-1">
                {(id) => (
                  <select id={id} className="field" disabled={disabled} value={String(c.type)} onChange={(e) => put(i, { type: e.target.value, [measures[e.target.value]!.field]: measures[e.target.value]!.fresh })}>
                    {!m && <option>{String(c.type)}</option>}
                    {Object.keys(measures).map((name) => (
                      <option key={name} value={name}>
                        {t(`stop.${name}` as Key)}
                      </option>
                    ))}
                  </select>
                )}
              </Labelled>
              {m && (
                <Labelled text={t(`stop.by.${m.field}` as Key)} className="flex-1">
                  {(id) => (
                    <>
                      <input
                        id={id}
                        className="field"
                        type={m.text ? "text" : "number"}
                        step={m.field === "max_usd" ? "any" : 1}
                        min={0}
                        list={m.field === "tool_name" ? `${id}-tools` : undefined}
                        disabled={disabled}
                        aria-invalid={own.length > 0 || undefined}
                        value={c[m.field] === undefined ? "" : String(c[m.field])}
                        onChange={(e) => put(i, { ...c, [m.field]: m.text ? e.target.value : e.target.value === "" ? 0 : Number(e.target.value) })}
                      />
                      {m.field === "tool_name" && (
                        <datalist id={`${id}-tools`}>
                          {tools.map((x) => (
                            <option key={x} value={x} />
                          ))}
                        </datalist>
                      )}
                    </>
                  )}
                </Labelled>
              )}
              <RemoveRow label={t("stop.remove", { n: i + 1 })} disabled={disabled} onClick={() => onChange(list.length === 1 ? undefined : list.filter((_, j) => j !== i))} />
            </div>
            <Problems list={own} />
          </div>
        );
      })}
      <AddRow text={t("stop.add")} disabled={disabled} onClick={() => onChange([...list, { type: "max_rounds", rounds: 10 }])} />
    </section>
  );
}

/** ContextPolicy edits how a conversation is made to fit the model. Without one, all of it is sent. */
export function ContextPolicy({ schema, value, onChange, problems, disabled, live }: { schema: Schema; value: Doc | null | undefined; onChange: (value: Doc | undefined) => void; live?: Doc | null } & Common) {
  const { t } = useLanguage();
  const on = value !== undefined && value !== null;
  return (
    <section aria-label={t("field.context_policy")} className="flex flex-col gap-3">
      <h2 className="text-title font-semibold">{t("field.context_policy")}</h2>
      <label className="flex items-center gap-2">
        <input type="checkbox" disabled={disabled} checked={on} onChange={(e) => onChange(e.target.checked ? {} : undefined)} />
        {t("context.apply")}
      </label>
      {on ? <DocForm ns="agents" schema={schema} value={value} onChange={(v) => onChange(v)} path="/context_policy" problems={problems} disabled={disabled} live={live} /> : <p className="text-muted">{t("context.off")}</p>}
    </section>
  );
}

interface Reminder {
  name?: string;
  tool: string;
  output?: string | { status?: string; content?: unknown };
  message: { target: string; content: string; cooldown_turns?: number };
}

const targets = ["system", "suffix_system", "session", "conversation"];

/** Reminders edits what the model is told after certain calls. */
export function Reminders({ value, onChange, problems, disabled }: { value: Doc; onChange: (value: Doc) => void } & Common) {
  const { t } = useLanguage();
  const rules = (value.rules as Reminder[] | null | undefined) ?? [];
  const set = (next: Reminder[]) => onChange(next.length ? { ...value, rules: next } : {});
  const put = (i: number, change: Partial<Reminder>) => set(rules.map((r, j) => (j === i ? { ...r, ...change } : r)));
  return (
    <div className="flex flex-col gap-3">
      {rules.map((r, i) => {
        const output = typeof r.output === "object" && r.output !== null ? r.output : {};
        const status = typeof r.output === "object" && r.output !== null ? (r.output.status ?? "any") : "any";
        const content = typeof output.content === "string" ? output.content : "";
        const when = (next: { status?: string; content?: unknown }) => put(i, { output: (next.status ?? "any") === "any" && !next.content ? undefined : next });
        return (
          <fieldset key={i} className="flex flex-col gap-2 rounded-md border border-line p-3">
            <legend className="px-1 font-medium">{r.name || t("reminder.rule", { n: i + 1 })}</legend>
            <div className="flex items-end gap-2">
              <Labelled text={t("reminder.tool")} className="flex-1">
                {(id) => <input id={id} className="field mono" placeholder="Edit(file_path ~ '*.toml')" disabled={disabled} value={r.tool} onChange={(e) => put(i, { tool: e.target.value })} />}
              </Labelled>
              <Labelled text={t("field.name")} className="flex-1">
                {(id) => <input id={id} className="field" disabled={disabled} value={r.name ?? ""} onChange={(e) => put(i, { name: e.target.value || undefined })} />}
              </Labelled>
              <RemoveRow label={t("reminder.remove", { n: i + 1 })} disabled={disabled} onClick={() => set(rules.filter((_, j) => j !== i))} />
            </div>
            <div className="grid gap-2 md:grid-cols-2">
              <Labelled text={t("reminder.status")}>
                {(id) => (
                  <select id={id} className="field" disabled={disabled} value={status} onChange={(e) => when({ ...output, status: e.target.value })}>
                    {["any", "success", "error", "pending"].map((s) => (
                      <option key={s} value={s}>
                        {t(`reminder.is.${s}` as Key)}
                      </option>
                    ))}
                  </select>
                )}
              </Labelled>
              <Labelled text={t("reminder.content")}>
                {(id) => (typeof output.content === "object" && output.content !== null ? <p id={id} className="mono field bg-sunken text-muted">{JSON.stringify(output.content)}</p> : <input id={id} className="field mono" disabled={disabled} placeholder="*" value={content} onChange={(e) => when({ ...output, status, content: e.target.value || undefined })} />)}
              </Labelled>
              <Labelled text={t("reminder.target")}>
                {(id) => (
                  <select id={id} className="field" disabled={disabled} value={r.message.target} onChange={(e) => put(i, { message: { ...r.message, target: e.target.value } })}>
                    {targets.map((x) => (
                      <option key={x} value={x}>
                        {t(`reminder.at.${x}` as Key)}
                      </option>
                    ))}
                  </select>
                )}
              </Labelled>
              <Labelled text={t("reminder.cooldown")}>
                {(id) => <input id={id} className="field" type="number" min={0} disabled={disabled} value={r.message.cooldown_turns ?? ""} onChange={(e) => put(i, { message: { ...r.message, cooldown_turns: e.target.value === "" ? undefined : Number(e.target.value) } })} />}
              </Labelled>
            </div>
            <Labelled text={t("reminder.message")}>{(id) => <textarea id={id} className="field" rows={3} disabled={disabled} value={r.message.content} onChange={(e) => put(i, { message: { ...r.message, content: e.target.value } })} />}</Labelled>
            <Problems list={below(problems, `/sections/reminder/rules/${i}`)} />
          </fieldset>
        );
      })}
      <AddRow text={t("reminder.add")} disabled={disabled} onClick={() => set([...rules, { tool: "", message: { target: "conversation", content: "" } }])} />
      <Problems list={problems.filter((p) => p.path.startsWith("/sections/reminder") && !p.path.startsWith("/sections/reminder/rules/"))} />
    </div>
  );
}

/** Deferred edits which tools the model sees only after it has searched for them. */
export function Deferred({ schema, value, onChange, problems, disabled, live }: { schema: Schema; value: Doc; onChange: (value: Doc) => void; live?: Doc } & Common) {
  const { t } = useLanguage();
  const rules = (value.rules as { tool: string; mode: string }[] | null | undefined) ?? [];
  const set = (change: Doc) => onChange(Object.fromEntries(Object.entries({ ...value, ...change }).filter(([, v]) => v !== undefined)));
  const put = (i: number, change: Partial<{ tool: string; mode: string }>) => set({ rules: rules.map((r, j) => (j === i ? { ...r, ...change } : r)) });
  return (
    <div className="flex flex-col gap-3">
      <div className="grid gap-2 md:grid-cols-3">
        <Labelled text={t("deferred.enabled")}>
          {(id) => (
            <select id={id} className="field" disabled={disabled} value={value.enabled === undefined || value.enabled === null ? "" : String(value.enabled)} onChange={(e) => set({ enabled: e.target.value === "" ? undefined : e.target.value === "true" })}>
              <option value="">{t("deferred.auto")}</option>
              <option value="true">{t("deferred.always")}</option>
              <option value="false">{t("deferred.never")}</option>
            </select>
          )}
        </Labelled>
        <Labelled text={t("deferred.default")}>
          {(id) => (
            <select id={id} className="field" disabled={disabled} value={String(value.default_mode ?? "deferred")} onChange={(e) => set({ default_mode: e.target.value })}>
              <option value="eager">{t("deferred.eager")}</option>
              <option value="deferred">{t("deferred.deferred")}</option>
            </select>
          )}
        </Labelled>
        <Labelled text={t("deferred.overhead")}>{(id) => <input id={id} className="field" type="number" min={0} placeholder="1136" disabled={disabled} value={value.beta_overhead === undefined ? "" : String(value.beta_overhead)} onChange={(e) => set({ beta_overhead: e.target.value === "" ? undefined : Number(e.target.value) })} />}</Labelled>
      </div>
      {rules.map((r, i) => (
        <div key={i} className="flex flex-col gap-1">
          <div className="flex items-end gap-2">
            <Labelled text={t("deferred.tool", { n: i + 1 })} className="flex-1">
              {(id) => <input id={id} className="field mono" placeholder="mcp*" disabled={disabled} value={r.tool} onChange={(e) => put(i, { tool: e.target.value })} />}
            </Labelled>
            <Labelled text={t("deferred.mode", { n: i + 1 })}>
              {(id) => (
                <select id={id} className="field" disabled={disabled} value={r.mode} onChange={(e) => put(i, { mode: e.target.value })}>
                  <option value="eager">{t("deferred.eager")}</option>
                  <option value="deferred">{t("deferred.deferred")}</option>
                </select>
              )}
            </Labelled>
            <RemoveRow label={t("deferred.remove", { n: i + 1 })} disabled={disabled} onClick={() => set({ rules: rules.length === 1 ? undefined : rules.filter((_, j) => j !== i) })} />
          </div>
          <Problems list={below(problems, `/sections/deferred_tools/rules/${i}`)} />
        </div>
      ))}
      <AddRow text={t("deferred.add")} disabled={disabled} onClick={() => set({ rules: [...rules, { tool: "", mode: "eager" }] })} />
      <DocForm schema={schema} fields={["agent_priors", "disc_beta"]} value={value} onChange={onChange} path="/sections/deferred_tools" problems={problems} disabled={disabled} live={live} />
    </div>
  );
}

const DISCOVERY = "skills-discovery";
const ACTIVE = "skills-active-instructions";

/** Skills edits which skills the agent can load, and how. */
export function Skills({ doc, set, put, skills, schema, problems, disabled, live }: { doc: Doc; set: (doc: Doc) => void; put: (value: Doc) => void; skills: { id: string; name?: string; description?: string }[]; schema?: Schema; live?: Doc } & Common) {
  const { t } = useLanguage();
  const plugins = (doc.plugin_ids as string[] | null | undefined) ?? [];
  const section = ((doc.sections as Record<string, Doc> | undefined)?.skills ?? {}) as Doc;
  const turn = (id: string, on: boolean) => set({ ...doc, plugin_ids: on ? [...plugins, id] : plugins.filter((p) => p !== id) });
  const allowed = (section.allowlist ?? section.ids) as string[] | null | undefined;
  const some = Array.isArray(allowed);
  const choose = (list: string[] | undefined) => {
    const next = { ...section };
    delete next.ids;
    if (list) next.allowlist = list;
    else delete next.allowlist;
    put(next);
  };
  const on = plugins.includes(DISCOVERY);
  const unknown = some ? allowed.filter((id) => !skills.some((s) => s.id === id)) : [];
  return (
    <section aria-label={t("agent.tab.skills")} className="flex flex-col gap-4">
      <h2 className="sr-only">{t("agent.tab.skills")}</h2>
      {[DISCOVERY, ACTIVE].map((id) => (
        <label key={id} className="flex items-start gap-2">
          <input type="checkbox" className="mt-1" disabled={disabled} checked={plugins.includes(id)} onChange={(e) => turn(id, e.target.checked)} />
          <span>
            <span className="font-medium">{t(id === DISCOVERY ? "skill.discovery" : "skill.active")}</span>
            <span className="block text-dense text-muted">{t(id === DISCOVERY ? "skill.discoveryHint" : "skill.activeHint")}</span>
          </span>
        </label>
      ))}
      {on && (
        <>
          <fieldset className="flex flex-col gap-2">
            <legend className="mb-1 font-medium">{t("skill.which")}</legend>
            <label className="flex items-center gap-2">
              <input type="radio" name="skills-which" disabled={disabled} checked={!some} onChange={() => choose(undefined)} />
              {t("skill.all")}
            </label>
            <label className="flex items-center gap-2">
              <input type="radio" name="skills-which" disabled={disabled} checked={some} onChange={() => choose([])} />
              {t("skill.some")}
            </label>
          </fieldset>
          {skills.length === 0 ? (
            <p className="text-muted">{t("skills.empty")}</p>
          ) : (
            <ul aria-label={t("nav.skills")} className="panel divide-y divide-line">
              {skills.map((s) => (
                <li key={s.id} className="flex items-start gap-3 px-4 py-2">
                  {some && <input type="checkbox" className="mt-1" aria-label={s.id} disabled={disabled} checked={allowed.includes(s.id)} onChange={(e) => choose(e.target.checked ? [...allowed, s.id] : allowed.filter((x) => x !== s.id))} />}
                  <div className="min-w-0">
                    <Link to="/skills/$id" params={{ id: s.id }} className="mono font-medium hover:underline">
                      {s.id}
                    </Link>
                    <p className="line-clamp-2 text-muted">{s.description}</p>
                  </div>
                </li>
              ))}
            </ul>
          )}
          {unknown.length > 0 && <p className="text-wait">{t("skill.unknown", { ids: unknown.join(", ") })}</p>}
          {schema && <DocForm schema={schema} fields={Object.keys(schema.properties ?? {}).filter((n) => n !== "allowlist" && n !== "ids")} value={section} onChange={put} path="/sections/skills" problems={problems} disabled={disabled} live={live} />}
        </>
      )}
      <Problems list={below(problems, "/sections/skills/allowlist")} />
    </section>
  );
}

/** matches reports whether a pattern of tools, in which * stands for any text, matches a name. */
export function matches(pattern: string, name: string): boolean {
  let re = "";
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i]!;
    if (c === "*") re += ".*";
    else re += (c === "\\" && i + 1 < pattern.length ? pattern[++i]! : c).replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  }
  return new RegExp(`^${re}$`, "s").test(name);
}

/** Patterns edits patterns of tools, and shows what each matches. */
export function Patterns({ kind, value, onChange, tools, disabled, problems }: { kind: "allowed" | "excluded"; value: string[] | null | undefined; onChange: (value: string[] | undefined) => void; tools: string[] } & Common) {
  const { t } = useLanguage();
  const id = useId();
  const [text, setText] = useState("");
  const list = value ?? [];
  const name = t(kind === "allowed" ? "field.allowed_tool_patterns" : "field.excluded_tool_patterns");
  const servers = [...new Set(tools.filter((x) => x.startsWith("mcp__")).map((x) => x.split("__")[1] ?? ""))].filter(Boolean);
  const hit = (p: string) => tools.filter((x) => matches(p, x));
  const add = (p: string) => {
    if (p && !list.includes(p)) onChange([...list, p]);
    setText("");
  };
  return (
    <section aria-label={name} data-testid={`tool-selector-${kind}`} className="flex flex-col gap-2">
      <h2 className="font-medium">{name}</h2>
      {list.length > 0 && (
        <ul aria-label={name} className="flex flex-col gap-1">
          {list.map((p, i) => (
            <li key={p} className="flex flex-wrap items-center gap-x-2 rounded-sm bg-sunken pl-2">
              <span className="mono">{p}</span>
              <span className="min-w-0 flex-1 truncate text-dense text-muted" title={hit(p).join(", ")}>
                {t("pattern.matches", { n: hit(p).length })} {hit(p).slice(0, 5).join(", ")}
              </span>
              <RemoveRow label={t("doc.removeFrom", { value: p, name })} disabled={disabled} onClick={() => onChange(list.filter((_, j) => j !== i))} />
            </li>
          ))}
        </ul>
      )}
      {value === null || value === undefined ? <p className="text-dense text-muted">{t("doc.unset")}</p> : list.length === 0 ? (
        <p className="text-dense text-muted">
          {t("doc.emptyList")}{" "}
          <button type="button" className="link" disabled={disabled} onClick={() => onChange(undefined)}>
            {t("doc.unsetAgain")}
          </button>
        </p>
      ) : null}
      <div className="flex flex-wrap items-end gap-2">
        <div className="flex min-w-40 flex-1 flex-col gap-1">
          <label htmlFor={id} className="text-dense text-muted">
            {t("pattern.new")}
          </label>
          <input
            id={id}
            className="field mono"
            placeholder="get*"
            disabled={disabled}
            aria-describedby={`${id}-hits`}
            value={text}
            onChange={(e) => setText(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === "Enter") {
                e.preventDefault();
                add(text.trim());
              }
            }}
          />
        </div>
        <Button disabled={disabled} why={text.trim() === "" ? t("why.noText") : undefined} onClick={() => add(text.trim())}>
          <Plus aria-hidden className="size-3.5" />
          {t("pattern.add")}
        </Button>
      </div>
      <p id={`${id}-hits`} className="text-dense text-muted">
        {text.trim() ? `${t("pattern.matches", { n: hit(text.trim()).length })} ${hit(text.trim()).slice(0, 8).join(", ")}` : t("pattern.hint")}
      </p>
      {servers.length > 0 && (
        <div className="flex flex-wrap items-center gap-2">
          <span className="text-dense text-muted">{t("pattern.servers")}</span>
          {servers.map((s) => (
            <Button key={s} disabled={disabled} why={list.includes(`mcp__${s}__*`) ? t("why.inList") : undefined} onClick={() => add(`mcp__${s}__*`)}>
              {s}
            </Button>
          ))}
        </div>
      )}
      <Problems list={below(problems, `/${kind}_tool_patterns`)} />
    </section>
  );
}
