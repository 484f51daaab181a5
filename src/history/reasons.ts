export const reasons = {
  CONFLICT: {
    NOT_SEALED:
      'The stored history of your organization does not match what was signed before. Nothing is signed or proved until the operator has examined it.',
  },
} as const;

declare module '#libs/rpc' {
  interface ModuleReasons {
    history: typeof reasons;
  }
}
