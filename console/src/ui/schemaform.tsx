import { useId } from "react";
import { useLanguage } from "../i18n/i18n";

/** The part of JSON Schema that forms are made of. What is beyond it is edited as JSON. */
export interface Schema {
  type?: string;
  title?: string;
  description?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  format?: string;
}

const simple = (s: Schema) => s.enum !== undefined || ["string", "number", "integer", "boolean"].includes(s.type ?? "");

/** formable reports whether a schema is an object of simple fields. */
export function formable(schema: unknown): schema is Schema {
  const s = schema as Schema | undefined;
  const fields = Object.values(s?.properties ?? {});
  return fields.length > 0 && fields.every(simple);
}

/** schemaOfValue returns the schema of a value that has none: an object of simple fields, or undefined. */
export function schemaOfValue(value: unknown): Schema | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
  const properties: Record<string, Schema> = {};
  for (const [name, v] of Object.entries(value)) {
    if (typeof v !== "string" && typeof v !== "number" && typeof v !== "boolean") return undefined;
    properties[name] = { type: typeof v };
  }
  return { type: "object", properties };
}

/** SchemaForm edits an object of simple fields. */
export function SchemaForm({ schema, value, onChange, disabled }: { schema: Schema; value: Record<string, unknown>; onChange: (value: Record<string, unknown>) => void; disabled?: boolean }) {
  return (
    <div className="flex flex-col gap-3">
      {Object.entries(schema.properties ?? {}).map(([name, s]) => (
        <Field key={name} name={name} schema={s} required={schema.required?.includes(name) ?? false} value={value[name]} onChange={(v) => onChange({ ...value, [name]: v })} disabled={disabled} />
      ))}
    </div>
  );
}

function Field({ name, schema, required, value, onChange, disabled }: { name: string; schema: Schema; required: boolean; value: unknown; onChange: (value: unknown) => void; disabled?: boolean }) {
  const { t } = useLanguage();
  const id = useId();
  const hint = schema.description ? `${id}-hint` : undefined;
  const common = { id, disabled, "aria-describedby": hint, required };
  const label = schema.title ?? name;
  let field;
  if (schema.enum) {
    field = (
      <select {...common} className="field w-full" value={value === undefined ? "" : JSON.stringify(value)} onChange={(e) => onChange(e.target.value === "" ? undefined : JSON.parse(e.target.value))}>
        <option value="">{t("form.choose")}</option>
        {schema.enum.map((v) => (
          <option key={JSON.stringify(v)} value={JSON.stringify(v)}>
            {String(v)}
          </option>
        ))}
      </select>
    );
  } else if (schema.type === "boolean") {
    return (
      <label className="touch flex min-h-8 items-center gap-2">
        <input type="checkbox" {...common} required={false} checked={value === true} onChange={(e) => onChange(e.target.checked)} />
        {label}
      </label>
    );
  } else if (schema.type === "number" || schema.type === "integer") {
    field = <input {...common} type="number" className="field w-full" step={schema.type === "integer" ? 1 : "any"} min={schema.minimum} max={schema.maximum} value={typeof value === "number" ? value : ""} onChange={(e) => onChange(e.target.value === "" ? undefined : Number(e.target.value))} />;
  } else {
    const text = typeof value === "string" ? value : "";
    field =
      text.length > 60 || text.includes("\n") ? (
        <textarea {...common} className="field w-full" rows={4} maxLength={schema.maxLength} value={text} onChange={(e) => onChange(e.target.value)} />
      ) : (
        <input {...common} className="field w-full" maxLength={schema.maxLength} value={text} onChange={(e) => onChange(e.target.value)} />
      );
  }
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
        {required && <span className="text-muted"> · {t("form.required")}</span>}
      </label>
      {field}
      {schema.description && (
        <p id={hint} className="text-dense text-muted">
          {schema.description}
        </p>
      )}
    </div>
  );
}
