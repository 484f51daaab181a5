import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser as Chromium, chromium, type Locator, type Page } from 'playwright-core';
import { findProgram } from '#libs/testing';

/** axe-core, as it is run in a page. */
const AXE = readFileSync(createRequire(__filename).resolve('axe-core/axe.min.js'), 'utf8');

export type Look = {
  width?: number;
  height?: number;
  isDark?: boolean;
  /** Without it, pages have to do everything all the same. */
  javaScript?: boolean;
  /** What it asks for pages in. */
  locale?: string;
  /** Whoever sits before it has no mouse: what is to be used is come to by Tab. */
  byKeyboard?: boolean;
};

/** A file, as somebody chooses it. */
export type ChosenFile = { name: string; mimeType: string; buffer: Buffer };

/** What axe-core finds: which rule, how grave it is, and where. */
export type Finding = { rule: string; impact: string; nodes: string[] };

type Violation = { id: string; impact: string; nodes: { html: string }[] };

/** What is focused, as it is called. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  if (!element) return '';
  const text = element.labels?.[0]?.textContent ?? element.textContent ?? '';
  return text.replace(/\\s+/g, ' ').trim();
})()`;

/** Debian's Chromium; undefined where it is not installed. Without its own windows it takes two thirds of the CPU time. */
export function findChromium(): string | undefined {
  return findProgram('chromium-headless-shell') ?? findProgram('chromium');
}

/** A real browser. What pages say to its console, and whom they ask, is looked at in the end. */
export class Browser {
  private constructor(private readonly chromium: Chromium) {}

  static async start(): Promise<Browser> {
    const executablePath = findChromium();
    if (executablePath === undefined) throw new Error('Chromium is not installed.');
    return new Browser(await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] }));
  }

  async stop(): Promise<void> {
    await this.chromium.close();
  }

  /** Pages that go on by themselves, or are still shown, take CPU time from the tests that follow. */
  async closeWindows(): Promise<void> {
    await Promise.all(this.chromium.contexts().map((context) => context.close()));
  }

  /** A window of its own, with nothing that others have left. */
  async open({
    width = 1_280,
    height = 900,
    isDark = false,
    javaScript = true,
    locale = 'en-GB',
    byKeyboard = false,
  }: Look = {}): Promise<Window> {
    const context = await this.chromium.newContext({
      viewport: { width, height },
      colorScheme: isDark ? 'dark' : 'light',
      javaScriptEnabled: javaScript,
      locale,
      reducedMotion: 'reduce',
    });
    return new Window(await context.newPage(), byKeyboard);
  }
}

/** A page, and all that it said and asked for. */
export class Window {
  private readonly said: string[] = [];
  private readonly asked = new Set<string>();

  constructor(
    readonly page: Page,
    private readonly byKeyboard = false,
  ) {
    // Nothing is opened without a listener, and one that comes with the key press is known to the browser too late.
    page.on('filechooser', () => undefined);
    page.on('console', (message) => this.said.push(message.text()));
    page.on('pageerror', (error) => this.said.push(String(error)));
    page.on('request', (request) => this.asked.add(request.url()));
  }

  /** @param origin the only one that it may ask. @param expected what it says of answers that are meant to be refusals. */
  requireQuiet(origin: string, expected?: RegExp): void {
    expect(this.said.filter((text) => !expected?.test(text))).toEqual([]);
    expect(
      [...this.asked].filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:')),
    ).toEqual([]);
  }

  /** Findings that keep people out: serious and critical ones, by the rules of WCAG 2.2 AA. */
  async findings(): Promise<Finding[]> {
    // By the debugger: the page's own policy lets no script but its own run, and that is to stay so.
    await this.page.evaluate(AXE);
    // A mail is shown in a frame that runs no scripts: nobody there would answer axe.
    const { violations } = await this.page.evaluate<{ violations: Violation[] }>(
      "axe.run({ iframes: false, resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })",
    );
    return violations
      .filter(({ impact }) => ['serious', 'critical'].includes(impact))
      .map(({ id, impact, nodes }) => ({ rule: id, impact, nodes: nodes.map(({ html }) => html) }));
  }

  /** Whether something stands out to the right of the window. */
  isTooWide(): Promise<boolean> {
    // As a text: of a browser's globals nothing here has types, so that nothing of the server can use them.
    return this.page.evaluate<boolean>(
      'document.documentElement.scrollWidth > document.documentElement.clientWidth',
    );
  }

  button(name: string): Locator {
    return this.page.getByRole('button', { name, exact: true }).first();
  }

  link(name: string): Locator {
    return this.page.getByRole('link', { name, exact: true }).first();
  }

  /** Uses a button, or a link; what it leads to is there afterwards. */
  async use(what: Locator): Promise<void> {
    if (this.byKeyboard) {
      await this.reach(what);
      await what.press('Enter');
    } else {
      await what.click();
    }
    await this.page.waitForLoadState();
  }

  press(name: string): Promise<void> {
    return this.use(this.button(name));
  }

  follow(name: string): Promise<void> {
    return this.use(this.link(name));
  }

  /** In place of what stands there. */
  async type(field: Locator, text: string): Promise<void> {
    if (!this.byKeyboard) return field.fill(text);
    await this.reach(field);
    await this.page.keyboard.press('Control+A');
    await this.page.keyboard.type(text);
    expect(await field.inputValue()).toBe(text);
  }

  /** A box, or one of some of which one is chosen. */
  async tick(box: Locator): Promise<void> {
    if (!this.byKeyboard) return box.check();
    const name = await box.getAttribute('name');
    const isOneOf = (await box.getAttribute('type')) === 'radio';
    // Tab comes to one of them; from there the arrows lead.
    await this.reach(box, isOneOf ? `document.activeElement.name === ${JSON.stringify(name)}` : undefined);
    for (let n = 0; isOneOf && n < 20 && !(await isFocused(box)); n += 1)
      await this.page.keyboard.press('ArrowDown');
    if (!(await box.isChecked())) await this.page.keyboard.press('Space');
    expect(await box.isChecked()).toBe(true);
  }

  /** @param option what it is called; by the keyboard, one that begins like no other. */
  async pick(choice: Locator, option: string): Promise<void> {
    if (!this.byKeyboard) {
      await choice.selectOption({ label: option });
      return;
    }
    await this.reach(choice);
    await this.page.keyboard.type(option);
    expect(await choice.locator('option:checked').innerText()).toBe(option);
  }

  async attach(field: Locator, file: ChosenFile): Promise<void> {
    if (!this.byKeyboard) return field.setInputFiles(file);
    await this.reach(field);
    const [chooser] = await Promise.all([
      this.page.waitForEvent('filechooser'),
      this.page.keyboard.press('Space'),
    ]);
    await chooser.setFiles(file);
  }

  /** By Tab, from where somebody is; around at most once. @param isThere where that is another element, in the page's own words. */
  private async reach(what: Locator, isThere?: string): Promise<void> {
    await what.waitFor();
    for (let n = 0; n < 150; n += 1) {
      if (isThere ? await this.page.evaluate<boolean>(isThere) : await isFocused(what)) return;
      await this.page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not come to ${String(what)} on ${this.page.url()}.`);
  }

  /** Presses Tab until what is focused has this name. @returns the names on the way. */
  async tabTo(name: string, most = 40): Promise<string[]> {
    const names: string[] = [];
    for (let n = 0; n < most; n += 1) {
      await this.page.keyboard.press('Tab');
      const focused = await this.page.evaluate<string>(FOCUSED);
      names.push(focused);
      if (focused.startsWith(name)) return names;
    }
    throw new Error(`Tab does not come to "${name}", but to: ${names.join(' | ')}`);
  }
}

function isFocused(what: Locator): Promise<boolean> {
  // A browser's types are not known here.
  return what.evaluate((element: { matches: (selector: string) => boolean }) => element.matches(':focus'));
}
