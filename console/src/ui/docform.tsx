import { Plus, RotateCcw, X } from "lucide-react";
import { useEffect, useId, useState, type ReactNode } from "react";
import type { Doc, Namespace, Problem } from "../api/config";
import { useFieldTexts } from "../i18n/fields";
import { useLanguage } from "../i18n/i18n";
import { Button } from "./button";

/** The part of JSON Schema that the server writes for its documents. */
export interface Schema {
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  readOnly?: boolean;
}

interface Common {
  /** The namespace of the document; not needed within sections. */
  ns?: Namespace;
  problems: Problem[];
  disabled?: boolean;
  /** What the field is in the version that new runs use; undefined shows no difference. */
  live?: Doc | null;
  /** Values to choose from, by the name of a field. */
  choices?: Record<string, string[]>;
  /** Labels in place of those that follow from names. */
  labels?: Record<string, string>;
  /** Hints in place of those of the schema. */
  hints?: Record<string, string>;
}

const secrets = new Set(["api_key", "client_secret", "token", "bearer_token"]);
const tall = new Set(["system_prompt", "instructions_md", "instructions", "examples"]);
const wide = new Set(["system_prompt", "instructions_md", "description", "when_to_use"]);
const typeOf = (s: Schema) => (Array.isArray(s.type) ? s.type.filter((t) => t !== "null")[0] : s.type) ?? "";
const human = (name: string) => name.replace(/_id$/, "").replaceAll("_", " ").replace(/^\w/, (c) => c.toUpperCase());
const escape = (name: string) => name.replaceAll("~", "~0").replaceAll("/", "~1");
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** useLabel returns the name of a field, as people say it. */
export function useLabel() {
  const { word } = useLanguage();
  return (name: string) => word(`field.${name}`) ?? human(name);
}

/** DocForm edits fields of a document by its schema. Problems stand at their fields. */
export function DocForm({ schema, fields, value, onChange, path = "", ...common }: { schema: Schema; fields?: string[]; value: Doc; onChange: (value: Doc) => void; path?: string } & Common) {
  const names = (fields ?? Object.keys(schema.properties ?? {})).filter((n) => schema.properties?.[n] && !schema.properties[n]!.readOnly && n !== "updated_at");
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      {names.map((name) => (
        <Field
          key={name}
          name={name}
          path={`${path}/${escape(name)}`}
          schema={schema.properties![name]!}
          required={schema.required?.includes(name) ?? false}
          value={value[name]}
          stored={value[`has_${name}`] === true}
          onChange={(v) => {
            const next = { ...value };
            if (v === undefined) delete next[name];
            else next[name] = v;
            onChange(next);
          }}
          {...common}
          live={common.live}
        />
      ))}
    </div>
  );
}

function Field({ name, path, schema, required, value, stored, onChange, problems, disabled, live, ns, choices, labels, hints }: { name: string; path: string; schema: Schema; required: boolean; value: unknown; stored: boolean; onChange: (value: unknown) => void } & Common) {
  const { t, word } = useLanguage();
  const label = useLabel();
  const id = useId();
  const type = typeOf(schema);
  const texts = useFieldTexts()(path.startsWith("/sections/") ? path.slice(1) : `${ns}${path}`);
  const hint = hints?.[name] ?? (path === `/${name}` ? word(`hint.${name}`) : undefined) ?? texts.hint ?? schema.description; // names within objects mean other things
  const own = problems.filter((p) => p.path === path || (type !== "object" && p.path.startsWith(`${path}/`)));
  const text = labels?.[name] ?? texts.title ?? label(name);
  const invalid = own.some((p) => p.severity !== "warning");
  const described = [hint && `${id}-hint`, own.length > 0 && `${id}-problem`].filter(Boolean).join(" ") || undefined;
  const differs = live !== undefined && live !== null && !secrets.has(name) && !same(value ?? schema.default, live[name] ?? schema.default);
  const common = { id, disabled, "aria-describedby": described, "aria-invalid": invalid || undefined, className: `field w-full ${invalid ? "border-fail" : ""}` };
  const options = schema.enum?.filter((v) => v !== null) ?? choices?.[name];
  let field: ReactNode;
  let across = wide.has(name) || type === "array" || type === "object" || (type === "" && !options);
  if (type === "object" && schema.properties) {
    return (
      <details className="panel lg:col-span-2" open={(name !== "backend" && value !== undefined && value !== null) || problems.some((p) => p.path.startsWith(`${path}/`))}>
        <summary className="cursor-pointer px-3 py-2 font-medium">
          <span id={`${id}-label`}>{text}</span>
          {stored && <span className="ml-2 text-dense font-normal text-muted">{value === null ? t("secret.removed") : value === undefined ? t("secret.stored") : t("secret.replaced")}</span>}
          {differs && !stored && <Differs onReset={() => onChange(live?.[name])} disabled={disabled} labelled={`${id}-label`} />}
        </summary>
        <div className="flex flex-col gap-3 border-t border-line p-3">
          {hint && <p className="text-dense text-muted">{hint}</p>}
          {stored && (
            <div className="flex flex-wrap items-center gap-2">
              <p className="min-w-0 flex-1 text-dense text-muted">{t("secret.objectHint")}</p>
              {value === undefined ? (
                <Button kind="quiet" disabled={disabled} onClick={() => onChange(null)}>
                  {t("secret.remove")}
                </Button>
              ) : (
                <Button kind="quiet" disabled={disabled} onClick={() => onChange(undefined)}>
                  {t("secret.keep")}
                </Button>
              )}
            </div>
          )}
          <DocForm
            schema={schema}
            value={(value as Doc | null) ?? {}}
            onChange={(v) => onChange(Object.keys(v).length === 0 ? undefined : v)}
            path={path}
            problems={problems}
            disabled={disabled}
            ns={ns}
            choices={choices}
            live={live === undefined || live === null ? live : ((live[name] as Doc | null | undefined) ?? {})}
          />
          <Problems list={own.filter((p) => p.path === path)} id={`${id}-problem`} />
        </div>
      </details>
    );
  }
  if (secrets.has(name)) {
    field = <Secret {...common} value={value} stored={stored || value === "***"} onChange={onChange} />;
  } else if (options && type !== "array") {
    field = (
      <select {...common} value={value === undefined || value === null ? "" : String(value)} onChange={(e) => onChange(e.target.value === "" ? undefined : e.target.value)}>
        <option value="">{schema.default !== undefined ? t("doc.default", { value: String(schema.default) }) : required ? t("form.choose") : t("doc.none")}</option>
        {value !== undefined && value !== null && !options.map(String).includes(String(value)) && <option>{String(value)}</option>}
        {options.map((v) => (
          <option key={String(v)}>{String(v)}</option>
        ))}
      </select>
    );
  } else if (type === "boolean") {
    field = (
      <select {...common} value={value === undefined || value === null ? "" : String(value)} onChange={(e) => onChange(e.target.value === "" ? undefined : e.target.value === "true")}>
        <option value="">{schema.default === undefined && Array.isArray(schema.type) ? t("doc.none") : t("doc.default", { value: t(schema.default === true ? "doc.yes" : "doc.no") })}</option>
        <option value="true">{t("doc.yes")}</option>
        <option value="false">{t("doc.no")}</option>
      </select>
    );
  } else if (type === "integer" || type === "number") {
    field = (
      <input
        {...common}
        type="number"
        step={type === "integer" ? 1 : "any"}
        min={schema.minimum}
        max={schema.maximum}
        placeholder={schema.default !== undefined ? String(schema.default) : undefined}
        value={typeof value === "number" ? value : ""}
        onChange={(e) => onChange(e.target.value === "" ? undefined : Number(e.target.value))}
      />
    );
  } else if (type === "string") {
    const s = typeof value === "string" ? value : "";
    const set = (v: string) => onChange(v === "" && !required ? undefined : v);
    if (tall.has(name) || s.includes("\n") || s.length > 120) {
      across = true;
      field = <textarea {...common} rows={tall.has(name) ? Math.min(24, Math.max(6, s.split("\n").length + 1)) : 3} value={s} onChange={(e) => set(e.target.value)} />;
    } else field = <input {...common} autoComplete="off" spellCheck={wide.has(name)} placeholder={schema.default !== undefined ? String(schema.default) : undefined} value={s} onChange={(e) => set(e.target.value)} />;
  } else if (type === "array" && schema.items && typeOf(schema.items) === "string") {
    field = <Words id={id} label={text} described={described} disabled={disabled} value={Array.isArray(value) ? value.map(String) : []} unset={value === undefined || value === null} choices={(schema.items.enum as string[] | undefined) ?? choices?.[name]} onChange={(v) => onChange(v)} onUnset={() => onChange(undefined)} />;
  } else field = <RawField {...common} value={value} onChange={onChange} />;
  return (
    <div className={`flex min-w-0 flex-col gap-1 ${across ? "lg:col-span-2" : ""}`}>
      <div className="flex flex-wrap items-center gap-x-2">
        <label id={`${id}-label`} htmlFor={id} className="font-medium">
          {text}
        </label>
        {required && <span className="text-dense text-muted">{t("form.required")}</span>}
        {name === "system_prompt" && typeof value === "string" && value !== "" && <span className="ml-auto text-dense text-muted">{t("doc.words", { words: value.trim().split(/\s+/).length, tokens: Math.ceil(value.length / 4) })}</span>}
        {differs && <Differs onReset={() => onChange(live?.[name])} disabled={disabled} labelled={`${id}-label`} />}
      </div>
      {field}
      <Problems
        list={own}
        id={`${id}-problem`}
        take={(p) => {
          if (p.suggestion && p.path === path && !disabled) onChange(p.suggestion);
        }}
        takes={type === "string" && !disabled ? path : undefined}
      />
      {hint && (
        <p id={`${id}-hint`} className="text-dense text-muted">
          {hint}
        </p>
      )}
    </div>
  );
}

function Differs({ onReset, disabled, labelled }: { onReset: () => void; disabled?: boolean; labelled: string }) {
  const { t } = useLanguage();
  return (
    <span className="ml-2 inline-flex items-center gap-1 text-dense font-normal text-run">
      {t("doc.differs")}
      {!disabled && (
        <button
          type="button"
          aria-label={t("doc.reset")}
          aria-describedby={labelled}
          title={t("doc.reset")}
          className="inline-flex size-6 items-center justify-center rounded-sm hover:bg-sunken"
          onClick={(e) => {
            e.preventDefault();
            onReset();
          }}
        >
          <RotateCcw aria-hidden className="size-3.5" />
        </button>
      )}
    </span>
  );
}

/** Problems says what is wrong, with what was probably meant. */
export function Problems({ list, id, take, takes }: { list: Problem[]; id?: string; take?: (p: Problem) => void; takes?: string }) {
  const { t } = useLanguage();
  if (list.length === 0) return null;
  return (
    <ul id={id} className="flex flex-col gap-0.5">
      {list.map((p) => (
        <li key={p.path + p.code + p.message} className={`text-dense [overflow-wrap:anywhere] ${p.severity === "warning" ? "text-wait" : "text-fail"}`} title={p.code}>
          {p.message}
          {p.suggestion && take && takes === p.path && (
            <button type="button" className="link ml-2" onClick={() => take(p)}>
              {t("doc.use", { value: p.suggestion })}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Secret takes a value that is never shown: stored, replaced or removed. */
function Secret({ value, stored, onChange, id, ...rest }: { value: unknown; stored: boolean; onChange: (value: unknown) => void; id: string; disabled?: boolean; className: string }) {
  const { t } = useLanguage();
  const typed = typeof value === "string" && value !== "***" ? value : "";
  const [open, setOpen] = useState(false);
  const removed = stored && value === "";
  if (stored && !open && !removed) {
    return (
      <div className="flex flex-wrap items-center gap-2">
        <span className="field inline-flex flex-1 items-center bg-sunken text-muted">{t("secret.stored")}</span>
        <Button aria-describedby={`${id}-label`} onClick={() => setOpen(true)} disabled={rest.disabled}>
          {t("secret.replace")}
        </Button>
        <Button kind="quiet" onClick={() => onChange("")} disabled={rest.disabled}>
          {t("secret.remove")}
        </Button>
      </div>
    );
  }
  return (
    <div className="flex items-center gap-2">
      <input id={id} {...rest} type="password" autoComplete="off" value={typed} placeholder={removed ? t("secret.removed") : stored ? t("secret.kept") : ""} onChange={(e) => onChange(e.target.value === "" ? undefined : e.target.value)} />
      {stored && (
        <Button
          kind="quiet"
          onClick={() => {
            setOpen(false);
            onChange(undefined);
          }}
        >
          {t("secret.keep")}
        </Button>
      )}
    </div>
  );
}

/** Words is a list of texts. Without one it says that none is set, which differs from an empty list. */
function Words({ id, label, described, value, unset, onChange, onUnset, choices, disabled }: { id: string; label: string; described?: string; value: string[]; unset: boolean; onChange: (value: string[]) => void; onUnset: () => void; choices?: string[]; disabled?: boolean }) {
  const { t } = useLanguage();
  const [text, setText] = useState("");
  const add = () => {
    const words = text.split(",").map((w) => w.trim()).filter((w) => w && !value.includes(w));
    if (words.length) onChange([...value, ...words]);
    setText("");
  };
  const left = choices?.filter((c) => !value.includes(c)) ?? [];
  return (
    <div className="flex flex-col gap-2">
      <div className="flex gap-2">
        <input
          id={id}
          aria-describedby={described}
          disabled={disabled}
          className="field min-w-0 flex-1"
          list={left.length ? `${id}-choices` : undefined}
          value={text}
          onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => {
            if (e.key === "Enter") {
              e.preventDefault();
              add();
            }
          }}
        />
        {left.length > 0 && (
          <datalist id={`${id}-choices`}>
            {left.map((c) => (
              <option key={c} value={c} />
            ))}
          </datalist>
        )}
        <Button onClick={add} why={text.trim() === "" ? t("why.noText") : undefined} disabled={disabled} aria-label={t("doc.addTo", { name: label })}>
          <Plus aria-hidden className="size-3.5" />
          {t("doc.add")}
        </Button>
      </div>
      {value.length > 0 && (
        <ul aria-label={label} className="flex flex-wrap gap-1.5">
          {value.map((w) => (
            <li key={w} className="mono inline-flex items-center rounded-sm bg-sunken pl-2">
              {w}
              <button type="button" aria-label={t("doc.removeFrom", { value: w, name: label })} disabled={disabled} onClick={() => onChange(value.filter((v) => v !== w))} className="inline-flex size-6 items-center justify-center rounded-sm text-muted hover:text-text">
                <X aria-hidden className="size-3.5" />
              </button>
            </li>
          ))}
        </ul>
      )}
      {value.length === 0 && (
        <p className="text-dense text-muted">
          {unset ? t("doc.unset") : t("doc.emptyList")}{" "}
          {!unset && (
            <button type="button" className="link" onClick={onUnset} disabled={disabled}>
              {t("doc.unsetAgain")}
            </button>
          )}
        </p>
      )}
    </div>
  );
}

/** RawField edits a value as JSON. */
function RawField({ value, onChange, ...rest }: { value: unknown; onChange: (value: unknown) => void; id: string; disabled?: boolean; className: string }) {
  const { t } = useLanguage();
  const shown = value === undefined ? "" : JSON.stringify(value, null, 2);
  const [text, setText] = useState(shown);
  const [bad, setBad] = useState("");
  useEffect(() => {
    setText((now) => (parse(now) === JSON.stringify(value) ? now : shown));
    setBad("");
  }, [shown, value]);
  return (
    <>
      <textarea
        {...rest}
        className={`${rest.className} mono`}
        rows={Math.min(12, Math.max(2, text.split("\n").length))}
        spellCheck={false}
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          if (e.target.value.trim() === "") {
            setBad("");
            onChange(undefined);
            return;
          }
          try {
            onChange(JSON.parse(e.target.value));
            setBad("");
          } catch (err) {
            setBad((err as Error).message);
          }
        }}
      />
      {bad && <p className="text-dense text-fail">{t("doc.badJson", { error: bad })}</p>}
    </>
  );
}

function parse(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
}
