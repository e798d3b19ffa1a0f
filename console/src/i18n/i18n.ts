import { createContext, useContext } from "react";
import en from "./en.json";

export type Key = keyof typeof en;
export type Words = Record<Key, string>;
export type Locale = "en" | "zh-CN";
export type Values = Record<string, string | number>;

const LOCALE = "awaken.locale";

/** initialLocale is what the user chose, or the browser's. */
export function initialLocale(): Locale {
  const chosen = localStorage.getItem(LOCALE);
  if (chosen === "en" || chosen === "zh-CN") return chosen;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

export const keepLocale = (locale: Locale) => localStorage.setItem(LOCALE, locale);

/** wordsOf loads the words of a locale. English is part of the page. */
export async function wordsOf(locale: Locale): Promise<Words> {
  return locale === "en" ? en : ((await import("./zh-CN.json")).default as Words);
}

export interface Language {
  locale: Locale;
  /** Returns the text for a key, with {name} replaced by values. {n|one text|other text} chooses by number. */
  t: (key: Key, values?: Values) => string;
  /** Returns the text for a key that may have none. */
  word: (key: string) => string | undefined;
  number: (n: number, options?: Intl.NumberFormatOptions) => string;
  money: (usd: number) => string;
  date: (ms: number) => string;
  time: (ms: number) => string;
  /** Returns "5 minutes ago", in short. */
  ago: (ms: number, now: number) => string;
  /** Returns a duration such as 1.9s, to a precision in milliseconds if one is given. */
  span: (ms: number, precision?: number) => string;
  setLocale: (locale: Locale) => void;
}

export function languageOf(locale: Locale, words: Words, setLocale: (l: Locale) => void): Language {
  const plural = new Intl.PluralRules(locale);
  const number = (n: number, options?: Intl.NumberFormatOptions) => new Intl.NumberFormat(locale, options).format(n);
  const unit = (n: number, u: string, digits = 0) => number(n, { style: "unit", unit: u, unitDisplay: "narrow", maximumFractionDigits: digits });
  const span = (ms: number, precision?: number) => {
    if (precision && precision < 1000 && ms >= 1000 && ms < 600_000) return unit(ms / 1000, "second", Math.ceil(3 - Math.log10(Math.max(1, precision))));
    if (ms < 1000) return unit(Math.max(0, Math.round(ms)), "millisecond");
    if (ms < 59_500) return unit(ms / 1000, "second", ms < 10_000 ? 1 : 0);
    if (ms < 3_600_000) return unit(Math.floor(ms / 60_000), "minute");
    if (ms < 86_400_000) return unit(Math.floor(ms / 3_600_000), "hour");
    return unit(Math.floor(ms / 86_400_000), "day");
  };
  return {
    locale,
    setLocale,
    number,
    span,
    word: (key) => (words as Record<string, string>)[key],
    t: (key, values) =>
      words[key].replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name: string, one?: string, other?: string) => {
        const value = values?.[name] ?? "";
        if (other !== undefined) return ((plural.select(Number(value)) === "one" ? one : other) ?? "").replaceAll("#", number(Number(value)));
        return typeof value === "number" ? number(value) : value;
      }),
    money: (usd) => number(usd, { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", maximumFractionDigits: usd !== 0 && Math.abs(usd) < 0.01 ? 4 : usd < 1 ? 3 : 2 }),
    date: (ms) => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" }).format(ms),
    time: (ms) => new Intl.DateTimeFormat(locale, { timeStyle: "medium" }).format(ms),
    ago: (ms, now) => span(Math.max(1000, Math.floor((now - ms) / 1000) * 1000)),
  };
}

const LanguageContext = createContext<Language>(languageOf("en", en, () => {}));
export const LanguageProvider = LanguageContext.Provider;
export const useLanguage = () => useContext(LanguageContext);
