// Generated interfaces in the starter in examples/aisdk, in a real browser. The screenshots of docs/generative-ui.md are
// made with AWAKEN_IMAGES=../../docs/images.
import { dirname, join } from "node:path";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { drawing } from "./drawing.ts";
import { Starter } from "./starter.ts";

const here = dirname(fileURLToPath(import.meta.url));
const starter = new Starter(join(here, "../../../examples/aisdk"));

before(() => starter.start());
after(() => starter.close());

drawing({
  runs: "/v1/ai-sdk/chat",
  async open(agent) {
    const page = await starter.open(`${starter.url}/?agent=${agent}`);
    await page.waitForSelector("#send");
    return page;
  },
  reload: async (page) => void (await page.reload()),
  ready: (page) => page.waitForSelector("#send"),
  picture: async (page, name, at) => at && starter.picture(page, `genui-${name}`, at),
});
