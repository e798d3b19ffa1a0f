import type { Doc, Read } from "../api/config";

/** An edit that was not saved. */
export interface Kept {
  doc: Doc;
  base: Read;
  at: number;
}

const STORE = "edits";
let db: IDBDatabase | undefined;

/** opened is the database of this browser, in which documents of any size have room; undefined if the browser has none, as in some private windows. */
const opened = new Promise<IDBDatabase | undefined>((resolve) => {
  try {
    const request = indexedDB.open("awaken", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve((db = request.result));
    request.onerror = () => resolve(undefined);
  } catch {
    resolve(undefined);
  }
});

const LEFT = "awaken.left ";

/** tab does something with what the browser keeps for this tab, unless it keeps nothing. */
function tab<T>(what: (storage: Storage) => T): T | undefined {
  try {
    return what(sessionStorage);
  } catch {
    return undefined; // it is full, or the user has switched it off
  }
}

/** recall returns the edit that was kept under a key. */
export async function recall(key: string): Promise<Kept | undefined> {
  const left = tab((s) => s.getItem(LEFT + key));
  const base = await opened;
  if (left) {
    const edit = JSON.parse(left) as Kept;
    keep(key, edit);
    return edit;
  }
  if (!base) return undefined;
  return new Promise((resolve) => {
    const request = base.transaction(STORE).objectStore(STORE).get(key);
    request.onsuccess = () => resolve(request.result as Kept | undefined);
    request.onerror = () => resolve(undefined);
  });
}

/** write changes the store. */
function write(change: (store: IDBObjectStore) => void) {
  if (!db) return;
  try {
    const transaction = db.transaction(STORE, "readwrite");
    change(transaction.objectStore(STORE));
    transaction.commit();
  } catch {
    // The browser is closing its storage; the edit is still in the page.
  }
}

export function keep(key: string, edit: Kept) {
  tab((s) => s.removeItem(LEFT + key));
  write((store) => store.put(edit, key));
}

/** leave keeps an edit of a page that is being left. The database may be too late for the page that comes next. */
export const leave = (key: string, edit: Kept) => tab((s) => s.setItem(LEFT + key, JSON.stringify(edit)));

export function forget(key: string) {
  tab((s) => s.removeItem(LEFT + key));
  write((store) => store.delete(key));
}
