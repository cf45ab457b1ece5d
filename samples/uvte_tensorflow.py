# e = a*b + log(d)*c as a static graph: defined first, run later
import tensorflow as tf

a = tf.placeholder(tf.float32, name="a")
b = tf.placeholder(tf.float32, name="b")
c = tf.placeholder(tf.float32, name="c")
d = tf.placeholder(tf.float32, name="d")

u = tf.multiply(a, b, name="u")
t = tf.log(d, name="t")
v = tf.multiply(t, c, name="v")
e = tf.add(u, v, name="e")
grads = tf.gradients(e, [a, b, c, d])

with tf.Session() as sess:
    writer = tf.summary.FileWriter("./graphs", sess.graph)
    feeds = {a: 2, b: 3, c: 5, d: 10}
    print(e)
    print("e =", sess.run(e, feed_dict=feeds))
    for name, grad in zip("abcd", sess.run(grads, feed_dict=feeds)):
        print(f"de/d{name} =", grad)
    writer.close()
