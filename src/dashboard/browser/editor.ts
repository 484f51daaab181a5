/** Replaces Markdown fields by an editor. The field stays in the form, and its text remains the stored form. */
import { baseKeymap, setBlockType, toggleMark, wrapIn } from 'prosemirror-commands';
import { history, redo, undo } from 'prosemirror-history';
import { InputRule, inputRules, textblockTypeInputRule, wrappingInputRule } from 'prosemirror-inputrules';
import { keymap } from 'prosemirror-keymap';
import { type Attrs, type MarkType, type NodeType, type ResolvedPos, Slice } from 'prosemirror-model';
import { liftListItem, sinkListItem, splitListItem, wrapInList } from 'prosemirror-schema-list';
import { type Command, EditorState, Selection } from 'prosemirror-state';
import { EditorView } from 'prosemirror-view';
import { documentOf, markdownOf, mergeNames, schema } from './markdown.js';

const { nodes, marks } = schema;

type Uploaded = { id: string; src: string; name: string; alt: string };

const isMarked =
  (type: MarkType) =>
  ({ selection, storedMarks, doc }: EditorState): boolean =>
    selection.empty
      ? Boolean(type.isInSet(storedMarks ?? selection.$from.marks()))
      : doc.rangeHasMark(selection.from, selection.to, type);
const isWithin =
  (type: NodeType, attrs: Attrs = {}) =>
  ({ selection: { $from } }: EditorState): boolean =>
    Array.from({ length: $from.depth + 1 }, (_, depth) => $from.node(depth)).some((node) =>
      node.hasMarkup(type, { ...node.attrs, ...attrs }),
    );

type Tool = { run: Command; isOn?: (state: EditorState) => boolean };
const mark = (type: MarkType): Tool => ({ run: toggleMark(type), isOn: isMarked(type) });
/** A second press turns the block into a paragraph again. */
const heading = (level: number): Tool => {
  const isOn = isWithin(nodes.heading, { level });
  const to = setBlockType(nodes.heading, { level });
  return {
    isOn,
    run: (state, ...rest) => (isOn(state) ? setBlockType(nodes.paragraph) : to)(state, ...rest),
  };
};
const list = (type: NodeType): Tool => {
  const isOn = isWithin(type);
  const [wrap, lift] = [wrapInList(type, { tight: true }), liftListItem(nodes.list_item)];
  return { isOn, run: (state, ...rest) => (isOn(state) ? lift : wrap)(state, ...rest) };
};
const TOOLS: Record<string, Tool> = {
  bold: mark(marks.strong),
  italic: mark(marks.em),
  heading: heading(2),
  subheading: heading(3),
  bullets: list(nodes.bullet_list),
  numbers: list(nodes.ordered_list),
  quote: { run: wrapIn(nodes.blockquote), isOn: isWithin(nodes.blockquote) },
  undo: { run: undo },
  redo: { run: redo },
};

const newLine: Command = (state, dispatch) => {
  dispatch?.(state.tr.replaceSelectionWith(nodes.hard_break.create()).scrollIntoView());
  return true;
};
const keys = {
  'Mod-b': TOOLS.bold!.run,
  'Mod-i': TOOLS.italic!.run,
  'Mod-z': undo,
  'Mod-y': redo,
  'Shift-Mod-z': redo,
  'Shift-Enter': newLine,
  Enter: splitListItem(nodes.list_item),
  'Mod-]': sinkListItem(nodes.list_item),
  'Mod-[': liftListItem(nodes.list_item),
};
const typed = (hasMerges: boolean) => [
  textblockTypeInputRule(/^(#{1,4})\s$/, nodes.heading, ([, hashes]) => ({ level: hashes!.length })),
  wrappingInputRule(/^\s*[-*]\s$/, nodes.bullet_list, { tight: true }),
  wrappingInputRule(/^(\d+)\.\s$/, nodes.ordered_list, ([, start]) => ({
    tight: true,
    order: Number(start),
  })),
  wrappingInputRule(/^\s*>\s$/, nodes.blockquote),
  ...(hasMerges
    ? [
        new InputRule(/\{\{[^{}]+\}\}$/, ({ tr }, [tag], start, end) =>
          tr.replaceWith(start, end, nodes.merge.create({ tag })),
        ),
      ]
    : []),
];

/** Whether pages, or emails, link an address. Those of emails can be merge fields. */
function isLinked(address: string, hasMerges: boolean): boolean {
  return (hasMerges ? /^(https?:\/\/|mailto:|tel:|\{[{%])/i : /^(https?:\/\/|mailto:)/i).test(address);
}

/** Completes an address as people type it. Undefined if it would not be linked. */
function completed(typed: string, hasMerges: boolean): string | undefined {
  if (typed === '' || isLinked(typed, hasMerges)) return typed;
  if (/^[^\s@/:]+@[^\s@/:]+\.[^\s@/:]+$/.test(typed)) return `mailto:${typed}`;
  if (/^\/(?!\/)/.test(typed)) return new URL(typed, location.href).href;
  return /^[\p{L}\p{N}.-]+\.\p{L}{2,}(?=[/:?#]|$)/u.test(typed) ? `https://${typed}` : undefined;
}

/** The ends of the link that the cursor is in. */
function linkAround({ $from }: Selection): { from: number; to: number } | undefined {
  const link = marks.link.isInSet($from.marks());
  if (!link) return undefined;
  const isWithin = (index: number) => link.isInSet($from.parent.maybeChild(index)?.marks ?? []);
  let [first, last] = [$from.index(), $from.index()];
  while (isWithin(first - 1)) first -= 1;
  while (isWithin(last)) last += 1;
  return { from: $from.posAtIndex(first), to: $from.posAtIndex(last) };
}

/** The page's policy blocks styles and scripts in HTML that is read, and would report each. */
function inert(pasted: string): string {
  return pasted
    .replace(/<(style|script)\b[^]*?<\/\1\s*>/gi, '')
    .replace(/<[a-z][^<>]*>/gi, (tag) => tag.replace(/\s(style|on\w+)\s*=/gi, ' data-$1='));
}

const STYLES: [style: RegExp, mark: string][] = [
  [/(?:^|;)\s*font-weight:\s*(?:bold|[6-9]00)/i, 'strong'],
  [/(?:^|;)\s*font-style:\s*italic/i, 'em'],
  [/(?:^|;)\s*text-decoration[\w-]*:[^;]*line-through/i, 's'],
];

/** Turns styles into the elements of their marks. */
function withMarks(body: HTMLElement): void {
  for (const element of body.querySelectorAll<HTMLElement>('[data-style]')) {
    const { style = '' } = element.dataset;
    for (const [, mark] of STYLES.filter(([pattern]) => pattern.test(style))) {
      const marked = document.createElement(mark);
      marked.append(...element.childNodes);
      element.append(marked);
    }
    // Google Docs puts everything into one.
    if (element.matches('b') && /(?:^|;)\s*font-weight:\s*(?:normal|[1-5]00)/i.test(style))
      element.replaceWith(...element.childNodes);
  }
}

/** Removes links and images that pages and emails do not show. Emails show images of other servers. */
function withoutForeign(body: HTMLElement, hasMerges: boolean): void {
  for (const link of body.querySelectorAll('a[href]'))
    if (!isLinked(link.getAttribute('href')!, hasMerges)) link.removeAttribute('href');
  for (const image of body.querySelectorAll('img')) {
    const { src } = image;
    const isOurs = src.startsWith(`${location.origin}/images/`);
    if (image.getAttribute('src')?.startsWith('{')) continue;
    if (hasMerges ? !/^https?:/.test(src) : !isOurs) image.remove();
    else image.setAttribute('src', hasMerges ? src : new URL(src).pathname);
  }
}

/** Word marks the items of its lists only by a class, and writes their bullets as text. */
function withLists(body: HTMLElement): void {
  for (const item of body.querySelectorAll<HTMLElement>('p[class^=MsoListParagraph]')) {
    const bullet = item.querySelector('[data-style*="mso-list:Ignore"]');
    const kind = /^\s*\w{1,3}[.)]/.test(bullet?.textContent ?? '') ? 'ol' : 'ul';
    bullet?.remove();
    const before = item.previousElementSibling;
    const holder = before?.matches(`${kind}.pasted`) ? before : document.createElement(kind);
    holder.className = 'pasted';
    if (holder !== before) item.before(holder);
    const entry = document.createElement('li');
    entry.append(...item.childNodes);
    holder.append(entry);
    item.remove();
  }
}

for (const row of document.querySelectorAll<HTMLElement>('[data-merge-fields] tr')) {
  const path = /^\{\{ ([\w.]+) \}\}$/.exec(row.querySelector('code')?.textContent ?? '')?.[1];
  if (path) mergeNames.set(path, row.lastElementChild!.textContent);
}

for (const template of document.querySelectorAll<HTMLTemplateElement>('template[data-editor]')) {
  const field = template.previousElementSibling as HTMLTextAreaElement;
  const hasMerges = template.dataset.editor === 'mail';
  const bar = template.content.cloneNode(true) as DocumentFragment;
  const tools = bar.querySelector<HTMLElement>('[role=toolbar]')!;
  const dialogs = [...bar.querySelectorAll('dialog')];
  const picker = bar.querySelector<HTMLInputElement>('[type=file]')!;
  const failed = bar.querySelector<HTMLElement>('.faults')!;
  const failure = failed.textContent;
  const foreign = bar.querySelector<HTMLElement>('.hint')!;
  const hint = document.getElementById(`${field.id}-hint`);
  const label = document.querySelector<HTMLLabelElement>(`label[for="${CSS.escape(field.id)}"]`)!;
  const { id } = field;
  label.id ||= `${id}-label`;
  const buttons = [...tools.querySelectorAll<HTMLButtonElement>('[data-tool]')];
  const asMarkdown = buttons.find(({ dataset }) => dataset.tool === 'markdown')!;
  const stateOf = (doc = documentOf('', hasMerges)!) =>
    EditorState.create({
      doc,
      plugins: [
        history(),
        inputRules({ rules: typed(hasMerges) }),
        keymap({ ...keys, 'Mod-k': () => (askForLink(), true) }),
        keymap(baseKeymap),
      ],
    });

  const surface = document.createElement('div');
  surface.className = 'editor';
  field.before(surface);
  surface.append(tools);
  const view = new EditorView(surface, {
    state: stateOf(),
    attributes: {
      ...{ role: 'textbox', 'aria-multiline': 'true', 'aria-labelledby': label.id, dir: 'auto' },
      ...(document.getElementById(`${id}-fault`) && {
        'aria-invalid': 'true',
        'aria-describedby': `${id}-fault`,
      }),
    },
    transformPastedHTML(pasted) {
      const { body } = new DOMParser().parseFromString(inert(pasted), 'text/html');
      withMarks(body);
      withoutForeign(body, hasMerges);
      withLists(body);
      return body.innerHTML;
    },
    // Word adds a picture of the text.
    handlePaste: (_, { clipboardData }) =>
      clipboardData?.getData('text/plain') === '' && takeImage(clipboardData.files),
    handleDrop: (_, { dataTransfer, clientX, clientY }) => {
      if (view.dragging || dataTransfer?.files.length === 0) return false;
      const place = view.posAtCoords({ left: clientX, top: clientY });
      if (place) select(view.state.doc.resolve(place.pos));
      // Otherwise the browser would open the file in place of the page.
      if (!takeImage(dataTransfer?.files)) fail(picker.dataset.wrong!);
      return true;
    },
    dispatchTransaction(transaction) {
      view.updateState(view.state.apply(transaction));
      showTools();
      if (!transaction.docChanged) return;
      field.value = markdownOf(view.state.doc, hasMerges);
      field.dispatchEvent(new Event('input', { bubbles: true }));
    },
  });
  surface.after(foreign, failed, picker);
  document.body.append(...dialogs);

  const select = ($at: ResolvedPos) => view.dispatch(view.state.tr.setSelection(Selection.near($at)));
  const fail = (why: string) => {
    failed.hidden = false;
    failed.textContent = why;
  };
  const isShown = (): boolean => field.hidden === true;
  const showTools = () => {
    for (const button of buttons) {
      const tool = TOOLS[button.dataset.tool!];
      if (tool?.isOn) button.ariaPressed = String(tool.isOn(view.state));
      button.disabled = !isShown() ? button !== asMarkdown : tool !== undefined && !tool.run(view.state);
    }
    asMarkdown.ariaPressed = String(!isShown());
  };
  /** Shows the field's text, in the editor if it can. */
  const show = (inEditor: boolean) => {
    const doc = inEditor ? documentOf(field.value, hasMerges) : undefined;
    foreign.hidden = !inEditor || doc !== undefined;
    field.hidden = doc !== undefined;
    view.dom.hidden = doc === undefined;
    if (hint) hint.hidden = field.hidden;
    // The list of errors links to the one that is shown.
    field.id = field.hidden ? '' : id;
    view.dom.id = field.hidden ? id : '';
    if (doc) view.updateState(stateOf(doc));
    showTools();
  };

  /** `from` gets the focus back, in place of the editor. */
  type Asked = {
    value?: string;
    complete?: (text: string) => string | undefined;
    from?: HTMLElement | undefined;
  };
  const ask = (
    name: string,
    apply: (text: string, typed: string) => void,
    { value = '', complete = String, from }: Asked = {},
  ) => {
    const dialog = dialogs.find(({ dataset }) => dataset.dialog === name)!;
    const input = dialog.querySelector('input')!;
    const check = () =>
      input.setCustomValidity(complete(input.value.trim()) === undefined ? input.dataset.wrong! : '');
    input.value = value;
    input.oninput = check;
    check();
    dialog.showModal();
    const goBack = () => (from ?? view).focus();
    dialog.onclose = goBack;
    // The close event comes later, and keys that are pressed before it belong behind the change.
    dialog.querySelector('form')!.onsubmit = (event) => {
      event.preventDefault();
      dialog.close();
      goBack();
      const typed = input.value.trim();
      if ((event.submitter as HTMLButtonElement).value === 'apply') apply(complete(typed)!, typed);
    };
  };
  const askForLink = () => {
    const { selection, doc } = view.state;
    const { $from, empty } = selection;
    const { from, to } = (empty ? linkAround(selection) : undefined) ?? selection;
    const before = (marks.link.isInSet($from.marks())?.attrs.href as string | undefined) ?? '';
    const isShownAsText = from === to || completed(doc.textBetween(from, to), hasMerges) === before;
    const change = (href: string, typed: string) => {
      const tr = view.state.tr.removeMark(from, to, marks.link);
      if (href !== '') {
        const link = marks.link.create({ href });
        if (isShownAsText) tr.replaceWith(from, to, schema.text(typed, [link]));
        else tr.addMark(from, to, link);
      }
      view.dispatch(tr);
    };
    ask('link', change, { value: before, complete: (typed) => completed(typed, hasMerges) });
  };
  /** Uploads the file on the page that people without scripts use, and reads the image from the page that follows. */
  const upload = async (file: File, alt: string): Promise<Uploaded> => {
    const body = new FormData();
    body.append('alt', alt);
    body.append('file', file);
    const response = await fetch(`${location.pathname.split('/', 3).join('/')}/images/new`, {
      method: 'POST',
      body,
    });
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const shown = page.querySelector<HTMLImageElement>('.picture img');
    // An email is read elsewhere, so it needs the whole address.
    const src = hasMerges ? page.querySelector<HTMLInputElement>('#url')?.value : shown?.getAttribute('src');
    if (!src) throw new Error(page.querySelector('.faults')?.textContent.trim() ?? failure);
    return { id: /[^/]+$/.exec(new URL(response.url).pathname)![0], src, name: file.name, alt };
  };
  const insertImage = ({ src, alt }: Uploaded) => {
    const image = nodes.image.create({ src, alt });
    if (isShown()) {
      // The image follows the selected text and does not replace it.
      select(view.state.selection.$to);
      view.dispatch(view.state.tr.replaceSelectionWith(image, false));
    } else {
      const text = markdownOf(schema.node('doc', null, schema.node('paragraph', null, image)), hasMerges);
      field.setRangeText(text, field.selectionEnd, field.selectionEnd, 'end');
      field.dispatchEvent(new Event('input', { bubbles: true }));
    }
  };
  const takeImage = (
    files: FileList | null | undefined,
    use: (image: Uploaded) => void = insertImage,
    from?: HTMLElement,
  ): boolean => {
    const file = [...(files ?? [])].find(({ type }) => type.startsWith('image/'));
    if (!file) return false;
    failed.hidden = true;
    (from ?? surface).after(failed);
    const apply = (alt: string) => {
      upload(file, alt)
        .then(use)
        .catch((error: Error) => fail(error instanceof TypeError ? failure : error.message));
    };
    ask('image', apply, { from });
    return true;
  };
  const insertPicked = () => takeImage(picker.files);
  let whenPicked = insertPicked;
  const pick = (then = insertPicked) => {
    whenPicked = then;
    picker.click();
  };
  picker.addEventListener('change', () => {
    whenPicked();
    picker.value = '';
  });
  const choice = field.form!.querySelector<HTMLSelectElement>('select[name=imageId]');
  const adder = field.form!.querySelector<HTMLButtonElement>('[data-new-image]');
  if (choice && adder) {
    adder.hidden = false;
    const choose = ({ id, name }: Uploaded) => {
      const known = [...choice.options].some(({ value }) => value === id);
      if (!known) choice.add(new Option(name, id), 1);
      choice.value = id;
      for (const type of ['input', 'change']) choice.dispatchEvent(new Event(type, { bubbles: true }));
    };
    adder.addEventListener('click', () => pick(() => takeImage(picker.files, choose, adder)));
  }

  for (const button of buttons) {
    // The selection stays in the text.
    button.addEventListener('mousedown', (event) => event.preventDefault());
    button.addEventListener('click', () => {
      const { tool = '' } = button.dataset;
      if (tool === 'markdown') return show(!isShown());
      if (tool === 'link') return askForLink();
      if (tool === 'image') return pick();
      TOOLS[tool]!.run(view.state, (transaction) => view.dispatch(transaction));
      view.focus();
    });
  }
  label.addEventListener('click', () => isShown() && view.focus());
  field.addEventListener('insert', (event) => {
    const inserted = isShown() ? documentOf((event as CustomEvent<string>).detail, hasMerges) : undefined;
    if (!inserted) return;
    event.preventDefault();
    const isInline = inserted.childCount === 1 && inserted.firstChild!.type === nodes.paragraph;
    const depth = isInline ? 1 : 0;
    view.dispatch(view.state.tr.replaceSelection(new Slice(inserted.content, depth, depth)).scrollIntoView());
    view.focus();
  });
  field.form!.addEventListener('reset', () => setTimeout(() => show(isShown())));
  show(true);
}
