import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser as Chromium, chromium, type Locator, type Page } from 'playwright-core';
import { findProgram } from '#libs/testing';

/** The source of axe-core, to run in pages. */
const AXE = readFileSync(createRequire(__filename).resolve('axe-core/axe.min.js'), 'utf8');

export type Look = {
  width?: number;
  height?: number;
  isDark?: boolean;
  /** Pages must work without JavaScript, too. */
  javaScript?: boolean;
  /** The language in which the browser requests pages. */
  locale?: string;
  /** Uses the keyboard instead of the mouse, and reaches elements with Tab. */
  byKeyboard?: boolean;
};

/** A file for an upload. */
export type ChosenFile = { name: string; mimeType: string; buffer: Buffer };

/** A finding of axe-core: the rule, its impact, and the elements. */
export type Finding = { rule: string; impact: string; nodes: string[] };

type Violation = { id: string; impact: string; nodes: { html: string }[] };

/** The label or text of the focused element. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  if (!element) return '';
  const text = element.labels?.[0]?.textContent ?? element.textContent ?? '';
  return text.replace(/\\s+/g, ' ').trim();
})()`;

/** The path of Debian's Chromium, or undefined if it is not installed. The headless shell uses two thirds of the CPU time. */
export function findChromium(): string | undefined {
  return findProgram('chromium-headless-shell') ?? findProgram('chromium');
}

/** A real browser. Its windows record console output and requests for `requireQuiet`. */
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

  /** Closes all pages, because open ones use CPU time during the next tests. */
  async closeWindows(): Promise<void> {
    await Promise.all(this.chromium.contexts().map((context) => context.close()));
  }

  /** Opens a window with its own cookies and storage. */
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
    // Only bounds a failure.
    context.setDefaultTimeout(120_000);
    return new Window(await context.newPage(), byKeyboard);
  }
}

/** A page with its console output and requests. */
export class Window {
  private readonly consoleLines: string[] = [];
  private readonly requested = new Set<string>();
  private hasLoadedAxe = false;

  constructor(
    readonly page: Page,
    private readonly byKeyboard = false,
  ) {
    // A file chooser opens only with a listener, and one added at the key press would be too late.
    page.on('filechooser', () => undefined);
    page.on('console', (message) => this.consoleLines.push(message.text()));
    page.on('pageerror', (error) => this.consoleLines.push(String(error)));
    page.on('request', (request) => this.requested.add(request.url()));
  }

  /** Expects no console output or foreign requests. @param origin the only allowed one. @param expected allowed console lines */
  requireQuiet(origin: string, expected?: RegExp): void {
    expect(this.consoleLines.filter((text) => !expected?.test(text))).toEqual([]);
    expect(
      [...this.requested].filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith('data:')),
    ).toEqual([]);
  }

  /** Serious and critical findings of axe-core for WCAG 2.2 AA. */
  async findings(): Promise<Finding[]> {
    await this.loadAxe();
    // Emails are shown in a frame without scripts, where axe cannot run.
    const { violations } = await this.page.evaluate<{ violations: Violation[] }>(
      "axe.run({ iframes: false, resultTypes: ['violations'], rules: { 'target-size': { enabled: true } } })",
    );
    return violations
      .filter(({ impact }) => ['serious', 'critical'].includes(impact))
      .map(({ id, impact, nodes }) => ({ rule: id, impact, nodes: nodes.map(({ html }) => html) }));
  }

  /**
   * Loads axe-core by the debugger, because the page's content security policy must not allow this script. Transferring and
   * compiling it takes a third of a second of CPU, so documents from the third on have it ready.
   */
  private async loadAxe(): Promise<void> {
    const isLoaded = await this.page.evaluate<boolean>(
      "typeof loadAxe === 'function' && loadAxe(), typeof axe === 'object'",
    );
    if (isLoaded) return;
    if (this.hasLoadedAxe) await this.page.addInitScript(`globalThis.loadAxe = function () { ${AXE}\n};`);
    this.hasLoadedAxe = true;
    await this.page.evaluate(AXE);
  }

  /** Whether the page is wider than the window. */
  isTooWide(): Promise<boolean> {
    // A string, because the types of browser globals are not available in server code.
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

  /** Activates a button or link, and waits for the next page. */
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

  /** Replaces the text of a field. */
  async type(field: Locator, text: string): Promise<void> {
    if (!this.byKeyboard) return field.fill(text);
    await this.reach(field);
    await this.page.keyboard.press('Control+A');
    await this.page.keyboard.type(text);
    expect(await field.inputValue()).toBe(text);
  }

  /** Checks a checkbox or radio button. */
  async tick(box: Locator): Promise<void> {
    if (!this.byKeyboard) return box.check();
    const name = await box.getAttribute('name');
    const isOneOf = (await box.getAttribute('type')) === 'radio';
    // Tab reaches one button of a radio group, and arrow keys reach the others.
    await this.reach(box, isOneOf ? `document.activeElement.name === ${JSON.stringify(name)}` : undefined);
    for (let n = 0; isOneOf && n < 20 && !(await isFocused(box)); n += 1)
      await this.page.keyboard.press('ArrowDown');
    if (!(await box.isChecked())) await this.page.keyboard.press('Space');
    expect(await box.isChecked()).toBe(true);
  }

  /** @param option its label, which no other option may begin with when using the keyboard */
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

  /** Reaches an element with Tab from the current one. @param isThere an expression in the page that is true at the target */
  private async reach(what: Locator, isThere?: string): Promise<void> {
    await what.waitFor();
    for (let n = 0; n < 150; n += 1) {
      if (isThere ? await this.page.evaluate<boolean>(isThere) : await isFocused(what)) return;
      await this.page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach ${String(what)} on ${this.page.url()}.`);
  }

  /** Presses Tab until the focused element has this name. @returns the names on the way */
  async tabTo(name: string, most = 40): Promise<string[]> {
    const names: string[] = [];
    for (let n = 0; n < most; n += 1) {
      await this.page.keyboard.press('Tab');
      const focused = await this.page.evaluate<string>(FOCUSED);
      names.push(focused);
      if (focused.startsWith(name)) return names;
    }
    throw new Error(`Tab does not reach "${name}", only: ${names.join(' | ')}`);
  }
}

function isFocused(what: Locator): Promise<boolean> {
  // The types of browsers are not available here.
  return what.evaluate((element: { matches: (selector: string) => boolean }) => element.matches(':focus'));
}
