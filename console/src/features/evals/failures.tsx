import type { EvalFailure } from "../../api/evals";
import type { Key, Language } from "../../i18n/i18n";

/** explain says in words what a run did not do, or should not have done. */
export function explain({ t, word, number }: Pick<Language, "t" | "word" | "number">, f: EvalFailure): string {
  if (f.failure) return t(`failure.${f.failure.kind}` as Key, { message: f.failure.message ?? "" });
  if (f.kind === "scorer_failed") return t("failure.scorer_failed", { scorer: f.scorer ?? "", reason: f.reason ?? "" });
  if (word(`failure.${f.kind}`) === undefined) return f.kind.replaceAll("_", " ");
  return t(`failure.${f.kind}` as Key, {
    phrase: f.phrase ?? "",
    tool: f.tool ?? f.required?.name ?? "",
    n: f.matched ?? 0,
    actual: f.actual?.join(", ") || f.actual_error_type || "–",
    expected: f.expected?.join(", ") || f.error_type || "–",
    value: f.value === undefined ? "" : number(f.value, { maximumFractionDigits: 3 }),
    limit: f.limit === undefined ? "" : number(f.limit, { maximumFractionDigits: 3 }),
  });
}
