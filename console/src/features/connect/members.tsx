import { Plus, X } from "lucide-react";
import type { Problem } from "../../api/config";
import { useLanguage } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { Problems } from "../../ui/docform";
import { ModelHealth } from "./models";

interface Member {
  model_id: string;
  role?: string | null;
  weight?: number | null;
}

/** Members edits the models of a pool: which of them share the work, and which only step in. */
export function Members({ value, onChange, models, problems, disabled }: { value: Member[]; onChange: (value: Member[]) => void; models: string[]; problems: Problem[]; disabled: boolean }) {
  const { t, number } = useLanguage();
  const put = (i: number, change: Partial<Member>) => onChange(value.map((m, j) => (j === i ? (Object.fromEntries(Object.entries({ ...m, ...change }).filter(([, v]) => v !== undefined)) as unknown as Member) : m)));
  const share = (m: Member) => (m.role === "failover_only" ? 0 : (m.weight ?? 1));
  const all = value.reduce((sum, m) => sum + share(m), 0);
  const own = (i: number) => problems.filter((p) => p.path.startsWith(`/members/${i}`));
  return (
    <section aria-label={t("field.members")} className="flex flex-col gap-2">
      <h2 className="font-medium">{t("field.members")}</h2>
      <ol className="flex flex-col gap-2">
        {value.map((m, i) => (
          <li key={i} className="flex flex-col gap-1">
            <div className="flex flex-wrap items-center gap-2">
              <select className="field min-w-40 flex-1" aria-label={t("pool.model", { n: i + 1 })} disabled={disabled} aria-invalid={own(i).length > 0 || undefined} value={m.model_id} onChange={(e) => put(i, { model_id: e.target.value })}>
                <option value="">{t("form.choose")}</option>
                {m.model_id && !models.includes(m.model_id) && <option>{m.model_id}</option>}
                {models.map((x) => (
                  <option key={x}>{x}</option>
                ))}
              </select>
              <select className="field" aria-label={t("pool.role", { n: i + 1 })} disabled={disabled} value={m.role ?? "member"} onChange={(e) => put(i, { role: e.target.value })}>
                <option value="member">{t("pool.member")}</option>
                <option value="failover_only">{t("pool.failover")}</option>
              </select>
              <input className="field w-24" type="number" min={0} step="any" aria-label={t("pool.weight", { n: i + 1 })} title={t("pool.weight", { n: i + 1 })} placeholder="1" disabled={disabled || m.role === "failover_only"} value={m.weight ?? ""} onChange={(e) => put(i, { weight: e.target.value === "" ? undefined : Number(e.target.value) })} />
              <span className="w-12 text-right text-muted tabular-nums">{all > 0 && share(m) > 0 && number(share(m) / all, { style: "percent" })}</span>
              <button type="button" aria-label={t("pool.remove", { n: i + 1 })} title={t("pool.remove", { n: i + 1 })} disabled={disabled || value.length === 1} onClick={() => onChange(value.filter((_, j) => j !== i))} className="touch inline-flex size-8 items-center justify-center rounded-md text-muted hover:bg-sunken hover:text-text disabled:opacity-60">
                <X aria-hidden className="size-4" />
              </button>
              {m.model_id && (
                <span className="w-full text-dense">
                  <ModelHealth id={m.model_id} />
                </span>
              )}
            </div>
            <Problems list={own(i)} />
          </li>
        ))}
      </ol>
      <Button className="self-start" disabled={disabled} onClick={() => onChange([...value, { model_id: "", role: "member" }])}>
        <Plus aria-hidden className="size-3.5" />
        {t("pool.add")}
      </Button>
      <Problems list={problems.filter((p) => p.path === "/members")} />
      <p className="text-dense text-muted">{t("pool.hint")}</p>
    </section>
  );
}
