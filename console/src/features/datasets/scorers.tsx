import { Plus, X } from "lucide-react";
import type { Scorer } from "../../api/evals";
import { useLanguage, type Key } from "../../i18n/i18n";
import { Button } from "../../ui/button";
import { JsonField, Labelled, LinesField, NumberField } from "../../ui/labelled";
import { ofKind, scorerFields, type ScorerField } from "./cases";

/** Scorers edits the further checks of a case. */
export function Scorers({ value, onChange, wrong }: { value: Scorer[]; onChange: (value: Scorer[]) => void; wrong: (n: number) => string | undefined }) {
  const { t } = useLanguage();
  return (
    <div className="flex flex-col gap-3">
      {value.map((s, i) => (
        <One key={i} n={i} scorer={s} bad={wrong(i)} set={(next) => onChange(value.map((x, j) => (j === i ? next : x)))} remove={() => onChange(value.filter((_, j) => j !== i))} />
      ))}
      <Button className="self-start" onClick={() => onChange([...value, { kind: "contains", text: "" }])}>
        <Plus aria-hidden className="size-3.5" />
        {t("scorer.add")}
      </Button>
    </div>
  );
}

function One({ n, scorer: s, set, remove, bad }: { n: number; scorer: Scorer; set: (s: Scorer) => void; remove: () => void; bad?: string }) {
  const { t } = useLanguage();
  const fields = scorerFields[s.kind] ?? [];
  const put = (name: ScorerField, value: unknown) => {
    const next = { ...s, [name]: value } as Scorer & Record<string, unknown>;
    if (value === undefined || value === "" || value === false) delete next[name];
    set(next);
  };
  const label = (name: ScorerField) => t(`scorer.${name}` as Key);
  const field = (name: ScorerField) => {
    switch (name) {
      case "ignore_case":
      case "not":
        return (
          <label key={name} className="touch inline-flex min-h-8 items-center gap-2">
            <input type="checkbox" checked={s[name] === true} onChange={(e) => put(name, e.target.checked)} />
            {label(name)}
          </label>
        );
      case "number":
      case "tolerance":
      case "max":
        return <NumberField key={name} label={t(name === "max" ? (`scorer.max.${s.kind}` as Key) : (`scorer.${name}` as Key))} value={s[name]} onChange={(v) => put(name, v)} />;
      case "schema":
      case "equals":
      case "calls":
        return <JsonField key={name} label={label(name)} value={s[name]} onChange={(v) => put(name, v)} hint={name === "calls" ? t("scorer.callsHint") : undefined} />;
      case "rules":
        return <LinesField key={name} label={label(name)} value={s.rules} onChange={(v) => put(name, v)} hint={t("scorer.rulesHint")} mono />;
      case "order":
        return (
          <Labelled key={name} label={label(name)}>
            {(props) => (
              <select {...props} className="field w-full" value={s.order ?? ""} onChange={(e) => put(name, e.target.value)}>
                {["", "any", "includes"].map((o) => (
                  <option key={o} value={o}>
                    {t(`scorer.order.${o || "exact"}` as Key)}
                  </option>
                ))}
              </select>
            )}
          </Labelled>
        );
      default:
        return (
          <Labelled key={name} label={label(name)}>
            {(props) => <input {...props} className={`field w-full ${name === "pattern" || name === "path" ? "mono" : ""}`} value={s[name] ?? ""} onChange={(e) => put(name, e.target.value)} />}
          </Labelled>
        );
    }
  };
  return (
    <fieldset className="flex flex-col gap-2 border-l-2 border-line pl-3">
      <legend className="sr-only">{t("scorer.one", { n: n + 1 })}</legend>
      <div className="flex flex-wrap items-end gap-2">
        <Labelled label={t("scorer.kind")}>
          {(props) => (
            <select {...props} className="field w-full" value={s.kind} onChange={(e) => set(ofKind(s, e.target.value))}>
              {Object.keys(scorerFields).map((k) => (
                <option key={k} value={k}>
                  {t(`scorer.kind.${k}` as Key)}
                </option>
              ))}
            </select>
          )}
        </Labelled>
        <Labelled label={t("scorer.name")}>{(props) => <input {...props} className="field w-full" placeholder={s.kind === "func" ? "" : s.kind} value={s.name ?? ""} onChange={(e) => put("name", e.target.value)} />}</Labelled>
        <Button kind="quiet" aria-label={t("scorer.remove", { n: n + 1 })} title={t("scorer.remove", { n: n + 1 })} onClick={remove}>
          <X aria-hidden className="size-3.5" />
        </Button>
      </div>
      {fields.map(field)}
      {bad && (
        <p role="alert" className="text-dense text-fail [overflow-wrap:anywhere]">
          {bad}
        </p>
      )}
    </fieldset>
  );
}
