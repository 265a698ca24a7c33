package org.example;

import java.util.concurrent.atomic.AtomicInteger;

/** Says how many registered executors a scheduler backend wants before it is ready. */
public class Ready {
  public static int at(Object backend) throws ReflectiveOperationException {
    AtomicInteger registered = (AtomicInteger) backend.getClass().getMethod("totalRegisteredExecutors").invoke(backend);
    int before = registered.get();
    int n = 0;
    registered.set(n);
    while (!(Boolean) backend.getClass().getMethod("sufficientResourcesRegistered").invoke(backend)) {
      registered.set(++n);
    }
    registered.set(before);
    return n;
  }
}
