import { useQuery } from "@tanstack/react-query";
import { useLanguage } from "./i18n";

/** The title and the hint of a field. */
export interface FieldText {
  title?: string;
  hint?: string;
}

const none: FieldText = {};

/**
 * useFieldTexts returns the texts of fields of documents, by the path of the field below its namespace, as in agents/budget/run_usd, or below
 * sections, as in sections/web/hosts. English ones are in the server's schemas. The others are loaded with the first form.
 */
export function useFieldTexts(): (path: string) => FieldText {
  const { locale } = useLanguage();
  const { data } = useQuery({
    queryKey: ["fields", locale],
    queryFn: async (): Promise<Record<string, FieldText>> => (locale === "en" ? {} : (await import("./fields.zh-CN.json")).default),
    staleTime: Infinity,
    gcTime: Infinity,
  });
  return (path) => data?.[path] ?? none;
}
