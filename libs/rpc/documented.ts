import type * as Swagger from '@nestjs/swagger';

type Decorators = (swagger: typeof Swagger) => (ClassDecorator | MethodDecorator)[];
type Target = [target: object, name?: string | symbol, descriptor?: PropertyDescriptor];

const waiting: { decorators: Decorators; target: Target }[] = [];

/**
 * Decorates a controller or one of its methods with what the documentation says of it, as soon as there is one
 * (`documentRoutes`). @nestjs/swagger is a quarter of what a process loads, and hardly any process is asked for it.
 */
export function Documented(decorators: Decorators): ClassDecorator & MethodDecorator {
  return (...target: Target) => {
    waiting.push({ decorators, target });
  };
}

/** To be called before a document is written. */
export function documentRoutes(swagger: typeof Swagger): void {
  for (const { decorators, target } of waiting.splice(0)) {
    for (const decorate of decorators(swagger)) (decorate as (...target: Target) => void)(...target);
  }
}
