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

/** recall returns the edit that was kept under a key. */
export async function recall(key: string): Promise<Kept | undefined> {
  const base = await opened;
  if (!base) return undefined;
  return new Promise((resolve) => {
    const request = base.transaction(STORE).objectStore(STORE).get(key);
    request.onsuccess = () => resolve(request.result as Kept | undefined);
    request.onerror = () => resolve(undefined);
  });
}

/** write changes the store. It asks for the commit at once, so that a page that is being left writes too. */
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

export const keep = (key: string, edit: Kept) => write((store) => store.put(edit, key));
export const forget = (key: string) => write((store) => store.delete(key));
