/** Replaces Markdown fields by an editor. The field stays in the form, and its text remains the stored form. */
import { baseKeymap, setBlockType, toggleMark, wrapIn } from 'prosemirror-commands';
import { history, redo, undo } from 'prosemirror-history';
import { InputRule, inputRules, textblockTypeInputRule, wrappingInputRule } from 'prosemirror-inputrules';
import { keymap } from 'prosemirror-keymap';
import { type Attrs, type MarkType, type NodeType, Slice } from 'prosemirror-model';
import { liftListItem, sinkListItem, splitListItem, wrapInList } from 'prosemirror-schema-list';
import { type Command, EditorState } from 'prosemirror-state';
import { EditorView } from 'prosemirror-view';
import { documentOf, markdownOf, mergeNames, schema } from './markdown.js';

const { nodes, marks } = schema;

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

/** Word marks the items of its lists only by a class, and writes their bullets as text. */
function withLists(pasted: string): string {
  const { body } = new DOMParser().parseFromString(pasted, 'text/html');
  for (const item of body.querySelectorAll<HTMLElement>('p[class^=MsoListParagraph]')) {
    const bullet = item.querySelector('[style*="mso-list:Ignore"]');
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
  return body.innerHTML;
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
    attributes: { role: 'textbox', 'aria-multiline': 'true', 'aria-labelledby': label.id, dir: 'auto' },
    transformPastedHTML: withLists,
    // Word adds a picture of the text.
    handlePaste: (_, { clipboardData }) =>
      clipboardData?.getData('text/plain') === '' && takeImage(clipboardData.files),
    handleDrop: (_, { dataTransfer }) => takeImage(dataTransfer?.files),
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

  const ask = (name: string, value: string, apply: (text: string) => void) => {
    const dialog = dialogs.find(({ dataset }) => dataset.dialog === name)!;
    const input = dialog.querySelector('input')!;
    input.value = value;
    dialog.returnValue = '';
    dialog.showModal();
    dialog.onclose = () => {
      view.focus();
      if (dialog.returnValue === 'apply') apply(input.value.trim());
    };
  };
  const askForLink = () => {
    const { $from, from, to, empty } = view.state.selection;
    const before = (marks.link.isInSet($from.marks())?.attrs.href as string | undefined) ?? '';
    ask('link', before, (href) => {
      const { tr } = view.state;
      if (!empty) tr.removeMark(from, to, marks.link);
      if (href !== '') {
        const link = marks.link.create({
          href: /^[\w.-]+\.[a-z]{2,}(\/|$)/i.test(href) ? `https://${href}` : href,
        });
        if (empty) tr.replaceSelectionWith(schema.text(href, [link]), false);
        else tr.addMark(from, to, link);
      }
      view.dispatch(tr);
    });
  };
  /** Uploads the file on the page that people without scripts use, and reads the address from the page that follows. */
  const upload = async (file: File, alt: string) => {
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
    if (src) view.dispatch(view.state.tr.replaceSelectionWith(nodes.image.create({ src, alt }), false));
    else throw new Error(page.querySelector('.faults')?.textContent.trim() ?? failure);
  };
  const takeImage = (files: FileList | null | undefined): boolean => {
    const file = [...(files ?? [])].find(({ type }) => type.startsWith('image/'));
    if (!file) return false;
    failed.hidden = true;
    ask('image', '', (alt) => {
      upload(file, alt).catch((error: Error) => {
        failed.hidden = false;
        failed.textContent = error instanceof TypeError ? failure : error.message;
      });
    });
    return true;
  };
  picker.addEventListener('change', () => {
    takeImage(picker.files);
    picker.value = '';
  });

  for (const button of buttons) {
    // The selection stays in the text.
    button.addEventListener('mousedown', (event) => event.preventDefault());
    button.addEventListener('click', () => {
      const { tool = '' } = button.dataset;
      if (tool === 'markdown') return show(!isShown());
      if (tool === 'link') return askForLink();
      if (tool === 'image') return picker.click();
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
