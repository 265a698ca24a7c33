import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Proves that every reference of one jar's classes holds on the class path it runs with: classes load and verify, called
 * methods and read fields exist with the very types the jar was compiled against, no abstract method is left open.
 *
 * <pre>java -cp "kubespark.jar:$SPARK_HOME/jars/*" LinkCheck.java kubespark.jar</pre>
 */
public final class LinkCheck {
  private final ClassLoader loader = LinkCheck.class.getClassLoader();
  private final Set<String> problems = new LinkedHashSet<>();
  private int references;

  public static void main(String[] args) throws IOException {
    LinkCheck check = new LinkCheck();
    int classes = 0;
    try (JarFile jar = new JarFile(args[0])) {
      for (JarEntry entry : (Iterable<JarEntry>) jar.stream()::iterator) {
        if (entry.getName().endsWith(".class")) {
          check.classFile(entry.getName(), jar.getInputStream(entry).readAllBytes());
          classes++;
        }
      }
    }
    check.problems.forEach(System.out::println);
    System.out.printf("%d classes, %d references, %d broken%n", classes, check.references, check.problems.size());
    System.exit(check.problems.isEmpty() && classes > 0 ? 0 : 1);
  }

  private void classFile(String entry, byte[] bytes) throws IOException {
    String name = entry.substring(0, entry.length() - ".class".length()).replace('/', '.');
    try {
      Class<?> type = Class.forName(name, true, loader);
      if (!Modifier.isAbstract(type.getModifiers())) {
        openMethods(type);
      }
    } catch (LinkageError | ClassNotFoundException e) {
      problems.add(name + ": does not load: " + e);
    }
    Pool pool = new Pool(bytes);
    for (int i = 1; i < pool.tag.length; i++) {
      switch (pool.tag[i]) {
        case 7 -> resolveClass(name, pool.text(pool.first[i]));
        case 9, 10, 11 -> member(name, pool, i);
        default -> { }
      }
    }
  }

  private void member(String user, Pool pool, int index) {
    references++;
    String owner = pool.text(pool.first[pool.first[index]]);
    int nameAndType = pool.second[index];
    String name = pool.text(pool.first[nameAndType]);
    String descriptor = pool.text(pool.second[nameAndType]);
    Class<?> type = resolveClass(user, owner);
    if (type == null || type.isArray()) {
      return;
    }
    try {
      boolean found = pool.tag[index] == 9
          ? field(type, name, MethodType.fromMethodDescriptorString("()" + descriptor, loader).returnType())
          : method(type, name, MethodType.fromMethodDescriptorString(descriptor, loader));
      if (!found) {
        problems.add(user + ": no " + owner + "." + name + descriptor);
      }
    } catch (TypeNotPresentException | NoClassDefFoundError e) {
      problems.add(user + ": " + owner + "." + name + descriptor + ": " + e);
    }
  }

  private Class<?> resolveClass(String user, String internal) {
    try {
      return Class.forName(internal.replace('/', '.'), false, loader);
    } catch (ClassNotFoundException | LinkageError e) {
      problems.add(user + ": no class " + internal);
      return null;
    }
  }

  private static boolean field(Class<?> type, String name, Class<?> of) {
    for (Class<?> t : family(type)) {
      for (Field field : t.getDeclaredFields()) {
        if (field.getName().equals(name) && field.getType() == of) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean method(Class<?> type, String name, MethodType wanted) {
    if (name.equals("<init>")) {
      return Arrays.stream(type.getDeclaredConstructors()).anyMatch(c -> same(c, wanted));
    }
    for (Class<?> t : family(type)) {
      // Method handles accept any signature.
      if (t == java.lang.invoke.MethodHandle.class) {
        return true;
      }
      if (declares(t, name, wanted)) {
        return true;
      }
    }
    return false;
  }

  private static boolean declares(Class<?> type, String name, MethodType wanted) {
    Method[] methods;
    try {
      methods = type.getDeclaredMethods();
    } catch (NoClassDefFoundError e) {
      // Another method of the class names a type that this distribution lacks; ask for this one alone.
      return resolves(type, name, wanted);
    }
    return Arrays.stream(methods).anyMatch(m ->
        m.getName().equals(name) && m.getReturnType() == wanted.returnType() && same(m, wanted));
  }

  private static boolean resolves(Class<?> type, String name, MethodType wanted) {
    try {
      MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(type, MethodHandles.lookup());
      try {
        lookup.findVirtual(type, name, wanted);
      } catch (NoSuchMethodException | IllegalAccessException e) {
        lookup.findStatic(type, name, wanted);
      }
      return true;
    } catch (ReflectiveOperationException e) {
      return false;
    }
  }

  private static boolean same(Executable e, MethodType wanted) {
    return Arrays.equals(e.getParameterTypes(), wanted.parameterArray());
  }

  /** A type, its superclasses and all their interfaces. */
  private static List<Class<?>> family(Class<?> type) {
    List<Class<?>> all = new ArrayList<>();
    for (Class<?> c = type; c != null; c = c.getSuperclass()) {
      all.add(c);
    }
    for (int i = 0; i < all.size(); i++) {
      all.addAll(Arrays.asList(all.get(i).getInterfaces()));
    }
    all.add(Object.class);
    return all;
  }

  private void openMethods(Class<?> type) {
    for (Class<?> t : family(type)) {
      for (Method m : t.getDeclaredMethods()) {
        if (Modifier.isAbstract(m.getModifiers()) && !implemented(type, m)) {
          problems.add(type.getName() + ": leaves " + m + " open");
        }
      }
    }
  }

  private static boolean implemented(Class<?> type, Method wanted) {
    MethodType signature = MethodType.methodType(wanted.getReturnType(), wanted.getParameterTypes());
    for (Class<?> t : family(type)) {
      for (Method m : t.getDeclaredMethods()) {
        if (!Modifier.isAbstract(m.getModifiers()) && m.getName().equals(wanted.getName())
            && m.getReturnType() == wanted.getReturnType() && same(m, signature)) {
          return true;
        }
      }
    }
    return false;
  }

  /** The constant pool of a class file. */
  private static final class Pool {
    final int[] tag;
    final int[] first;
    final int[] second;
    private final String[] texts;

    Pool(byte[] bytes) throws IOException {
      DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
      in.skipBytes(8);
      int count = in.readUnsignedShort();
      tag = new int[count];
      first = new int[count];
      second = new int[count];
      texts = new String[count];
      for (int i = 1; i < count; i++) {
        tag[i] = in.readUnsignedByte();
        switch (tag[i]) {
          case 1 -> texts[i] = in.readUTF();
          case 3, 4 -> in.skipBytes(4);
          case 5, 6 -> {
            in.skipBytes(8);
            i++;
          }
          case 7, 8, 16, 19, 20 -> first[i] = in.readUnsignedShort();
          case 9, 10, 11, 12, 17, 18 -> {
            first[i] = in.readUnsignedShort();
            second[i] = in.readUnsignedShort();
          }
          case 15 -> in.skipBytes(3);
          default -> throw new IOException("constant of unknown kind " + tag[i]);
        }
      }
    }

    String text(int index) {
      return texts[index];
    }
  }
}
