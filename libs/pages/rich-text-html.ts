import MarkdownIt from 'markdown-it';
import sanitizeHtml, { type Tag } from 'sanitize-html';
import { escapeHtml, paragraphsOf } from './html.js';

/** Allowed markup. Everything else is reduced to its text. */
const TAGS = ['p', 'br', 'hr', 'h2', 'h3', 'h4', 'strong', 'em', 's', 'u', 'code', 'pre', 'blockquote'];
const LISTS_AND_TABLES = ['ul', 'ol', 'li', 'a', 'img', 'table', 'thead', 'tbody', 'tr', 'th', 'td'];

/** Deeper levels are dropped, because the reader is recursive. */
const MAX_DEPTH = 50;
/** Parsing a text can take time quadratic in the number of marks. */
const MAX_MARKS = 20_000;
// HTML in Markdown is shown as typed.
const markdown = new MarkdownIt({ html: false, linkify: true });

/** Renders content as HTML; null if it is not a text. */
export function richTextHtml(content: unknown): string | null {
  if (typeof content === 'string') return sanitized(fromMarkdown(content));
  if (!isObject(content)) return null;
  if (typeof content.markdown === 'string') return sanitized(fromMarkdown(content.markdown));
  return content.type === 'doc' ? sanitized(nodesOf(content.content, 0)) : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sanitized(unsafe: string): string {
  return sanitizeHtml(unsafe, {
    allowedTags: [...TAGS, ...LISTS_AND_TABLES],
    allowedAttributes: { a: ['href', 'rel'], img: ['src', 'alt', 'loading'], ol: ['start'] },
    allowedSchemes: ['http', 'https', 'mailto'],
    allowProtocolRelative: false,
    nestingLimit: MAX_DEPTH,
    transformTags: {
      // The page has its own h1.
      h1: 'h2',
      h5: 'h4',
      h6: 'h4',
      b: 'strong',
      i: 'em',
      del: 's',
      a: (tagName, { href = '' }) => {
        // In a feed, a relative link would lead to another site.
        const whole: Record<string, string> = /^(https?:|mailto:)/i.test(href) ? { href } : {};
        return { tagName, attribs: { ...whole, rel: 'nofollow noopener ugc' } };
      },
      img(tagName, { src = '', alt = '' }): Tag {
        // Images of other servers would reveal who reads the page.
        if (!src.startsWith('/images/')) return { tagName: 'em', attribs: {}, text: alt };
        return { tagName, attribs: { src, alt, loading: 'lazy' } };
      },
    },
  });
}

function fromMarkdown(text: string): string {
  const marks = text.match(/[[*_`~|<>#@:+\n-]/g)?.length ?? 0;
  return marks <= MAX_MARKS ? markdown.render(text) : paragraphsOf(text);
}

/** Nodes of ProseMirror's schema, and of TipTap's, whose names are in camel case. */
const BLOCKS: Record<string, string> = {
  paragraph: 'p',
  blockquote: 'blockquote',
  bulletlist: 'ul',
  listitem: 'li',
  table: 'table',
  tablerow: 'tr',
  tableheader: 'th',
  tablecell: 'td',
};
const MARKS: Record<string, string> = {
  bold: 'strong',
  strong: 'strong',
  italic: 'em',
  em: 'em',
  strike: 's',
  underline: 'u',
  code: 'code',
};

function nodesOf(nodes: unknown, depth: number): string {
  if (!Array.isArray(nodes) || depth > MAX_DEPTH) return '';
  return nodes.map((node) => (isObject(node) ? nodeOf(node, depth) : '')).join('');
}

type Node = Record<string, unknown>;

/** Unknown nodes are reduced to their text. */
function nodeOf({ type, text, attrs, marks, content }: Node, depth: number): string {
  const name = typeof type === 'string' ? type.replaceAll('_', '').toLowerCase() : '';
  const attributes = isObject(attrs) ? attrs : {};
  const inside = () => nodesOf(content, depth + 1);
  switch (name) {
    case 'text':
      return typeof text === 'string' ? marked(escapeHtml(text), marks) : '';
    case 'hardbreak':
      return '<br>';
    case 'horizontalrule':
      return '<hr>';
    case 'heading': {
      // The title of the page is the only h1.
      const level = Math.min(4, Math.max(2, Number(attributes.level) || 2));
      return `<h${level}>${inside()}</h${level}>`;
    }
    case 'codeblock':
      return `<pre><code>${inside()}</code></pre>`;
    case 'orderedlist': {
      const start = Number(attributes.start ?? attributes.order);
      return `<ol${Number.isInteger(start) ? ` start="${start}"` : ''}>${inside()}</ol>`;
    }
    case 'image':
      return `<img src="${escaped(attributes.src)}" alt="${escaped(attributes.alt)}">`;
    default: {
      const tag = Object.hasOwn(BLOCKS, name) ? BLOCKS[name]! : undefined;
      return tag === undefined ? inside() : `<${tag}>${inside()}</${tag}>`;
    }
  }
}

function marked(text: string, marks: unknown): string {
  if (!Array.isArray(marks)) return text;
  return marks.slice(0, Object.keys(MARKS).length).reduce<string>((inside, mark) => {
    if (!isObject(mark) || typeof mark.type !== 'string') return inside;
    const name = mark.type.toLowerCase();
    if (name === 'link') {
      const href = isObject(mark.attrs) ? mark.attrs.href : undefined;
      return `<a href="${escaped(href)}">${inside}</a>`;
    }
    const tag = Object.hasOwn(MARKS, name) ? MARKS[name]! : undefined;
    return tag === undefined ? inside : `<${tag}>${inside}</${tag}>`;
  }, text);
}

function escaped(value: unknown): string {
  return typeof value === 'string' ? escapeHtml(value) : '';
}
