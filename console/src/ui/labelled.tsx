import { useEffect, useId, useState, type ReactNode } from "react";
import { useLanguage } from "../i18n/i18n";

interface FieldProps {
  id: string;
  "aria-describedby"?: string;
  "aria-invalid"?: true;
}

/** Labelled is a field with its name, and what is wrong with it or else a hint. */
export function Labelled({ label, bad, hint, children }: { label: string; bad?: string; hint?: string; children: (props: FieldProps) => ReactNode }) {
  const id = useId();
  return (
    <div className="flex min-w-0 flex-1 flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      {children({ id, ...((bad || hint) && { "aria-describedby": `${id}-says` }), ...(bad && { "aria-invalid": true as const }) })}
      {bad ? (
        <span id={`${id}-says`} role="alert" className="text-dense text-fail [overflow-wrap:anywhere]">
          {bad}
        </span>
      ) : (
        hint && (
          <span id={`${id}-says`} className="text-dense text-muted">
            {hint}
          </span>
        )
      )}
    </div>
  );
}

/** Panel is a part of a form, with its name. */
export function Panel({ title, hint, children }: { title: string; hint?: string; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="panel flex flex-col gap-3 p-4">
      <div>
        <h2 id={id} className="font-semibold">
          {title}
        </h2>
        {hint && <p className="text-muted">{hint}</p>}
      </div>
      {children}
    </section>
  );
}

const parse = (text: string): string | undefined => {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
};

/** JsonField edits a value as JSON. What cannot be read does not take effect. */
export function JsonField({ label, value, onChange, bad, hint, disabled }: { label: string; value: unknown; onChange: (value: unknown) => void; bad?: string; hint?: string; disabled?: boolean }) {
  const { t } = useLanguage();
  const shown = value === undefined ? "" : JSON.stringify(value, null, 2);
  const [text, setText] = useState(shown);
  const [broken, setBroken] = useState("");
  useEffect(() => {
    setText((now) => (now.trim() === "" && value === undefined) || (value !== undefined && parse(now) === JSON.stringify(value)) ? now : shown);
    setBroken("");
  }, [shown]); // eslint-disable-line
  return (
    <Labelled label={label} bad={broken ? t("doc.badJson", { error: broken }) : bad} hint={hint}>
      {(props) => (
        <textarea
          {...props}
          className="field mono w-full"
          rows={Math.min(16, Math.max(2, text.split("\n").length))}
          spellCheck={false}
          disabled={disabled}
          value={text}
          onChange={(e) => {
            setText(e.target.value);
            if (e.target.value.trim() === "") {
              setBroken("");
              onChange(undefined);
              return;
            }
            try {
              const next = JSON.parse(e.target.value) as unknown;
              setBroken("");
              onChange(next);
            } catch (err) {
              setBroken((err as Error).message);
            }
          }}
        />
      )}
    </Labelled>
  );
}

/** LinesField edits a list of texts, one per line. */
export function LinesField({ label, value, onChange, bad, hint, disabled, mono }: { label: string; value?: string[]; onChange: (value?: string[]) => void; bad?: string; hint?: string; disabled?: boolean; mono?: boolean }) {
  const [text, setText] = useState((value ?? []).join("\n"));
  const own = (value ?? []).join("\n");
  const lines = (s: string) => s.split("\n").filter((line) => line.trim() !== "");
  useEffect(() => setText((now) => (lines(now).join("\n") === own ? now : own)), [own]);
  return (
    <Labelled label={label} bad={bad} hint={hint}>
      {(props) => (
        <textarea
          {...props}
          className={`field w-full ${mono ? "mono" : ""}`}
          rows={Math.min(8, Math.max(1, text.split("\n").length))}
          disabled={disabled}
          value={text}
          onChange={(e) => {
            setText(e.target.value);
            const list = lines(e.target.value);
            onChange(list.length > 0 ? list : undefined);
          }}
        />
      )}
    </Labelled>
  );
}

/** NumberField edits a number, or none. */
export function NumberField({ label, value, onChange, bad, hint, disabled, step = "any", min }: { label: string; value?: number; onChange: (value?: number) => void; bad?: string; hint?: string; disabled?: boolean; step?: string; min?: number }) {
  return (
    <Labelled label={label} bad={bad} hint={hint}>
      {(props) => <input {...props} type="number" step={step} min={min} className="field w-full" disabled={disabled} value={value ?? ""} onChange={(e) => onChange(e.target.value === "" ? undefined : Number(e.target.value))} />}
    </Labelled>
  );
}
