import MarkdownIt from 'markdown-it';
import { posix } from 'node:path';

/**
 * A part of a page, from one heading to the next. `anchor` is empty for the part before the first heading below the title. `head` and
 * `body` are the title and the text in lower case, for searching.
 */
type Section = { title: string; anchor: string; text: string; head: string; body: string };

export type Sheet = { title: string; sections: readonly Section[] };

/** Our own pages, which contain `<details>`. */
const markdown = new MarkdownIt({ html: true });
// A wide table scrolls, and the page does not.
markdown.renderer.rules.table_open = () => '<div class="scrolls" tabindex="0" role="group"><table>';
markdown.renderer.rules.table_close = () => '</table></div>';

/**
 * Renders a page. Headings have the anchors that GitHub gives them.
 *
 * @param file the page's path, to which its links are relative
 * @param addressOf the address of a file, or undefined if it is not served: then its link is only a text
 */
export function rendered(
  text: string,
  file: string,
  addressOf: (file: string) => string | undefined,
): string {
  const tokens = markdown.parse(text, {});
  const anchorOf = anchors();
  for (const [n, token] of tokens.entries()) {
    if (token.type === 'heading_open') token.attrSet('id', anchorOf(tokens[n + 1]!.content));
    const open: boolean[] = [];
    for (const inner of token.children ?? []) {
      const name = inner.type === 'image' ? 'src' : 'href';
      if (inner.type === 'link_close' && !open.pop()) inner.tag = 'span';
      if (inner.type !== 'link_open' && inner.type !== 'image') continue;
      const given = String(inner.attrGet(name));
      const [path, anchor] = given.split('#') as [string, string | undefined];
      const isOutside = /^[a-z]+:/i.test(given) || path === '';
      const address = isOutside ? path : addressOf(posix.join(posix.dirname(file), path));
      const isServed = address !== undefined;
      if (isServed) inner.attrSet(name, anchor === undefined ? address : `${address}#${anchor}`);
      if (inner.type !== 'link_open') continue;
      open.push(isServed);
      if (isServed) continue;
      inner.tag = 'span';
      inner.attrs = null;
    }
  }
  return (
    markdown.renderer
      .render(tokens, markdown.options, {})
      // The keyboard scrolls what is too wide.
      .replaceAll('<pre>', '<pre tabindex="0">')
      // Each operation has a page of its own.
      .replaceAll(
        /href="\/docs\/reference\/operations\/[\w-]+#[\w-]+">([\w-]+\.[\w-]+)</g,
        'href="/docs/$1">$1<',
      )
  );
}

/** The title and the sections, as Markdown. */
export function sheetOf(text: string): Sheet {
  const anchorOf = anchors();
  const sections: Section[] = [];
  let isCode = false;
  for (const line of text.split('\n')) {
    if (/^ *```/.test(line)) isCode = !isCode;
    const heading = isCode ? undefined : /^#{1,6} (.+)$/.exec(line)?.[1];
    if (heading === undefined) {
      const last = sections.at(-1);
      if (last) last.text += `${line}\n`;
      continue;
    }
    const anchor = anchorOf(heading);
    const title = plain(heading);
    const head = title.toLowerCase();
    sections.push({ title, anchor: sections.length === 0 ? '' : anchor, text: '', head, body: '' });
  }
  for (const section of sections) section.body = section.text.toLowerCase();
  return { title: sections[0]?.title ?? '', sections };
}

/** Text without the marks of Markdown. */
export function plain(text: string): string {
  return text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*|]|^-{3,}|^#+ |^```\w*$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function anchors(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const anchor = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${before}`;
  };
}
